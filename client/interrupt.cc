#include "client/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace sbump {
namespace {

bool IsIgnored(int signal_number) {
  struct sigaction action {};
  return sigaction(signal_number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  if (!IsIgnored(SIGHUP)) sigaddset(&signals_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals_, &old_mask_);
  signal_fd_ = Fd(signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK));
  stop_fd_ = Fd(eventfd(0, EFD_CLOEXEC));
}

Interrupt::~Interrupt() {
  StopWatching();
  // A signal that nobody waited for any more must not kill a program that is done.
  signalfd_siginfo info;
  while (read(signal_fd_.get(), &info, sizeof(info)) == sizeof(info)) {
  }
  pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

void Interrupt::Watch(std::function<void(int count)> on_signal) {
  watcher_ = std::thread([this, call = std::move(on_signal)] { Loop(call); });
}

void Interrupt::StopWatching() {
  if (!watcher_.joinable()) return;
  const uint64_t one = 1;
  (void)!write(stop_fd_.get(), &one, sizeof(one));
  watcher_.join();
}

void Interrupt::Loop(const std::function<void(int count)>& on_signal) {
  int count = 0;
  while (true) {
    pollfd fds[] = {{signal_fd_.get(), POLLIN, 0}, {stop_fd_.get(), POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return;
    if (fds[1].revents != 0) return;
    signalfd_siginfo info;
    if (read(signal_fd_.get(), &info, sizeof(info)) == sizeof(info)) on_signal(++count);
  }
}

}  // namespace sbump
