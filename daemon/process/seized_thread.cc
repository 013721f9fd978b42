#include "daemon/process/seized_thread.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cerrno>

namespace sbump {
namespace {

// A stop without an event is a signal on its way to the thread, which the detach hands on. With
// PTRACE_EVENT_STOP it is our interrupt, or a SIGSTOP that took effect and stays in effect by
// itself.
int SignalToDeliver(int wait_status) {
  const bool event_stop = (wait_status >> 16) == PTRACE_EVENT_STOP;
  return event_stop ? 0 : WSTOPSIG(wait_status);
}

}  // namespace

int SeizedThread::Seize(pid_t tid) {
  if (ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) return errno;
  ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);  // ESRCH: it is dying, which the wait will tell
  return 0;
}

SeizedThread::State SeizedThread::Look() {
  if (state_ == State::kEnded) return state_;
  int wait_status = 0;
  const pid_t reported = waitpid(tid_, &wait_status, __WALL | WNOHANG);
  const bool lost = reported < 0 && errno == ECHILD;  // an exec gave its tid to another thread
  if (reported > 0 && WIFSTOPPED(wait_status)) {
    state_ = State::kStopped;
    pending_signal_ = SignalToDeliver(wait_status);
  } else if (reported > 0 || lost) {
    state_ = State::kEnded;
  }
  return state_;
}

// The registers are those of its maker in the system call, but for the result. Wherever else it
// stands, orig_rax names another call or none (arch/x86/kernel/process.c, copy_thread).
bool SeizedThread::IsNewborn() const {
  user_regs_struct registers{};
  if (state_ != State::kStopped || ptrace(PTRACE_GETREGS, tid_, nullptr, &registers) != 0)
    return false;
  const auto call = static_cast<long>(registers.orig_rax);
  const bool forks =
      call == SYS_clone || call == SYS_clone3 || call == SYS_fork || call == SYS_vfork;
  return forks && registers.rax == 0;
}

uint64_t SeizedThread::InstructionPointer() const {
  user_regs_struct registers{};
  if (state_ != State::kStopped || ptrace(PTRACE_GETREGS, tid_, nullptr, &registers) != 0) return 0;
  return registers.rip;
}

bool SeizedThread::Detach() {
  return state_ == State::kStopped && ptrace(PTRACE_DETACH, tid_, nullptr, pending_signal_) == 0;
}

}  // namespace sbump
