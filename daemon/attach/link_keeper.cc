#include "daemon/attach/link_keeper.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

enum class Verb : uint32_t { kOpen, kClose };

// One packet, with the socket for the reply and, to open, the program's descriptor, and that of a
// file that holds UprobeSpec::many_offsets, if there are some.
struct Request {
  Verb verb{};
  UprobeKind kind{};
  int32_t pid = 0;
  uint32_t on_return = 0;
  uint64_t file_offset = 0;
  uint64_t link = 0;
  uint64_t offsets = 0;
  char path[PATH_MAX] = {};
};

struct Reply {
  int32_t code = 0;  // absl::StatusCode
  uint64_t link = 0;
  char message[PATH_MAX + 256] = {};
};

constexpr size_t kMostFds = 3;

Fd OpenPidfd(pid_t pid) { return Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

bool Send(int socket, const Request& request, const std::vector<int>& fds) {
  iovec bytes{const_cast<Request*>(&request), sizeof(request)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size() * sizeof(int));
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof(request));
}

// ---- In the process of its own ----

struct Received {
  Request request;
  Fd reply;
  Fd program;
  Fd offsets;
};

// nullopt: the daemon is gone.
std::optional<Received> Receive(int socket) {
  Received received;
  iovec bytes{&received.request, sizeof(received.request)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size;
  do {
    size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size != static_cast<ssize_t>(sizeof(Request))) return std::nullopt;
  if (const cmsghdr* rights = CMSG_FIRSTHDR(&message)) {
    std::array<int, kMostFds> fds = {-1, -1, -1};
    std::memcpy(fds.data(), CMSG_DATA(rights), rights->cmsg_len - CMSG_LEN(0));
    received.reply = Fd(fds[0]);
    received.program = Fd(fds[1]);
    received.offsets = Fd(fds[2]);
  }
  return received;
}

// Kills the daemon when it does not do what it promised.
class Avenger {
 public:
  Avenger(int broken_promise, Fd daemon)
      : timer_(daemon.valid() ? broken_promise : -1), daemon_(std::move(daemon)) {}

  // Returns when the socket is readable.
  void WatchUntilReadable(int socket) const {
    pollfd waits[] = {{socket, POLLIN, 0}, {timer_, POLLIN, 0}};
    while (true) {
      const int ready = poll(waits, 2, -1);
      if (ready > 0 && waits[1].revents != 0) Strike();
      if (ready > 0 && waits[0].revents != 0) return;
    }
  }

 private:
  // A machine that stood still itself gets a moment to keep its promise late.
  void Strike() const {
    constexpr int kMomentMs = 500;
    poll(nullptr, 0, kMomentMs);
    pollfd still{timer_, POLLIN, 0};
    if (poll(&still, 1, 0) != 1) return;
    Log(LogLevel::kError, "daemon_killed",
        {{"why", "it held threads of a process for longer than it may (was it stopped?)"}});
    syscall(SYS_pidfd_send_signal, daemon_.get(), SIGKILL, nullptr, 0);
    uint64_t expirations;
    static_cast<void>(!read(timer_, &expirations, sizeof(expirations)));
  }

  const int timer_;
  const Fd daemon_;
};

class Keeper {
 public:
  // Until the daemon is gone, and all that it began is finished.
  void Serve(int socket, const Avenger& avenger) {
    while (true) {
      avenger.WatchUntilReadable(socket);
      std::optional<Received> received = Receive(socket);
      if (!received) break;
      auto shared = std::make_shared<Received>(*std::move(received));
      Beside([this, shared] { Do(*shared); });
    }
    Finish();
    for (auto& [number, link] : std::exchange(links_, {})) {
      auto shared = std::make_shared<UprobeLink>(std::move(link));
      Beside([shared] { *shared = UprobeLink{}; });
    }
    Finish();
  }

 private:
  // The kernel waits for grace periods: many at once.
  void Beside(std::function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      ++running_;
    }
    const auto run = [this, job = std::move(job)] {
      try {
        job();
      } catch (const std::exception&) {  // no memory: whoever waits for the reply sees its end
      }
      const std::lock_guard lock(mutex_);
      --running_;
      changed_.notify_all();
    };
    try {
      std::thread(run).detach();
    } catch (const std::exception&) {  // no thread to be had
      run();
    }
  }

  void Finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return running_ == 0; });
  }

  void Do(Received& received) {
    Reply reply;
    if (received.request.verb == Verb::kOpen) {
      OpenOne(received, reply);
    } else {
      CloseOne(received.request.link);
    }
    send(received.reply.get(), &reply, sizeof(reply), MSG_NOSIGNAL);
  }

  static absl::StatusOr<UprobeLink> OpenLink(const Received& received) {
    const Request& request = received.request;
    UprobeSpec spec{.kind = request.kind,
                    .pid = request.pid,
                    .path = request.path,
                    .file_offset = request.file_offset,
                    .on_return = request.on_return != 0};
    spec.many_offsets.resize(std::min<size_t>(request.offsets, kMostOffsets));
    const auto bytes = static_cast<ssize_t>(spec.many_offsets.size() * sizeof(uint64_t));
    if (bytes != 0 && pread(received.offsets.get(), spec.many_offsets.data(),
                            static_cast<size_t>(bytes), 0) != bytes) {
      return absl::InternalError("the places of the probes cannot be read");
    }
    return OpenUprobe(spec, received.program.get());
  }

  void OpenOne(const Received& received, Reply& reply) {
    absl::StatusOr<UprobeLink> link = OpenLink(received);
    if (!link.ok()) {
      reply.code = static_cast<int32_t>(link.status().code());
      ToStd(link.status().message()).copy(reply.message, sizeof(reply.message) - 1);
      return;
    }
    const std::lock_guard lock(mutex_);
    reply.link = ++last_number_;
    links_.emplace(reply.link, *std::move(link));
  }

  void CloseOne(uint64_t number) {
    std::map<uint64_t, UprobeLink>::node_type link;
    const std::lock_guard lock(mutex_);
    link = links_.extract(number);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0;
  uint64_t last_number_ = 0;
  std::map<uint64_t, UprobeLink> links_;
};

// For the handler, which finds nothing else.
int socket_to_daemon = -1;

// The end of the socket does not tell it all: a thread of a killed daemon that waits for a page
// that never comes (FUSE) cannot be ended, and keeps every descriptor of the daemon open. The
// kernel signals when the thread that began this process has ended, which is the main thread.
void WatchDaemon(int socket, pid_t daemon) {
  socket_to_daemon = socket;
  signal(SIGUSR1, [](int) { shutdown(socket_to_daemon, SHUT_RDWR); });
  prctl(PR_SET_PDEATHSIG, SIGUSR1);
  if (getppid() != daemon) shutdown(socket, SHUT_RDWR);
}

[[noreturn]] void BeKeeper(Fd socket, const Avenger& avenger, pid_t daemon) {
  prctl(PR_SET_NAME, "sbump-links");
  // What a terminal or systemd sends to all: the daemon decides when it is over.
  for (int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE})
    signal(signal_number, SIG_IGN);
  WatchDaemon(socket.get(), daemon);
  Keeper keeper;
  keeper.Serve(socket.get(), avenger);
  _exit(0);
}

}  // namespace

// ---- In the daemon ----

absl::StatusOr<std::unique_ptr<LinkKeeper>> LinkKeeper::Start(int broken_promise) {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return ErrnoStatus(errno, "a socket to the process that keeps the probes");
  Fd ours(ends[0]), theirs(ends[1]);
  Fd daemon = OpenPidfd(getpid());
  const pid_t daemon_pid = getpid();
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "a process that keeps the probes");
  if (pid == 0) {
    ours.Reset();
    BeKeeper(std::move(theirs), Avenger(broken_promise, std::move(daemon)), daemon_pid);
  }
  Fd pidfd = OpenPidfd(pid);
  if (!pidfd.valid()) return ErrnoStatus(errno, "pidfd_open");
  SB_ASSIGN_OR_RETURN(const TargetProcess keeper, TargetProcess::Open(pid));
  return std::unique_ptr<LinkKeeper>(
      new LinkKeeper(std::move(ours), keeper.id(), std::move(pidfd)));
}

LinkKeeper::~LinkKeeper() {
  socket_.Reset();
  while (waitpid(id_.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

namespace {

absl::StatusOr<Fd> FileOf(const std::vector<uint64_t>& offsets) {
  Fd file(memfd_create("sbump-offsets", MFD_CLOEXEC));
  const auto bytes = static_cast<ssize_t>(offsets.size() * sizeof(uint64_t));
  if (!file.valid() || pwrite(file.get(), offsets.data(), static_cast<size_t>(bytes), 0) != bytes) {
    return ErrnoStatus(errno, "a file for the places of the probes");
  }
  return file;
}

// kUnavailable: the process is gone.
absl::StatusOr<Reply> Ask(int socket, const Request& request, const std::vector<int>& to_open) {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return ErrnoStatus(errno, "a socket for the reply of the process that keeps the probes");
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  std::vector<int> fds = {theirs.get()};
  fds.insert(fds.end(), to_open.begin(), to_open.end());
  const absl::Status gone = absl::UnavailableError("the process that keeps the probes is gone");
  if (!Send(socket, request, fds)) return gone;
  theirs.Reset();  // or its end would never be seen
  Reply reply;
  ssize_t size;
  do {
    size = recv(ours.get(), &reply, sizeof(reply), 0);
  } while (size < 0 && errno == EINTR);
  if (size != static_cast<ssize_t>(sizeof(reply))) return gone;
  return reply;
}

}  // namespace

absl::StatusOr<uint64_t> LinkKeeper::Open(const UprobeSpec& spec, int program_fd) {
  Request request;
  request.verb = Verb::kOpen;
  request.kind = spec.kind;
  request.pid = spec.pid;
  request.on_return = spec.on_return ? 1 : 0;
  request.file_offset = spec.file_offset;
  if (spec.path.size() >= sizeof(request.path))
    return absl::InvalidArgumentError(StrCat("too long a path: ", spec.path));
  std::memcpy(request.path, spec.path.c_str(), spec.path.size() + 1);
  std::vector<int> fds = {program_fd};
  Fd offsets;
  if (!spec.many_offsets.empty()) {
    if (spec.many_offsets.size() > kMostOffsets)
      return absl::ResourceExhaustedError(StrCat("more than ", kMostOffsets, " probes at once"));
    SB_ASSIGN_OR_RETURN(offsets, FileOf(spec.many_offsets));
    request.offsets = spec.many_offsets.size();
    fds.push_back(offsets.get());
  }
  SB_ASSIGN_OR_RETURN(const Reply reply, Ask(socket_.get(), request, fds));
  if (reply.code != 0)
    return absl::Status(static_cast<absl::StatusCode>(reply.code), reply.message);
  return reply.link;
}

bool LinkKeeper::HasEnded(int within_ms) const {
  pollfd end{pidfd_.get(), POLLIN, 0};
  return poll(&end, 1, within_ms) == 1;
}

absl::Status LinkKeeper::Close(uint64_t link) {
  constexpr int kAttempts = 100, kPauseMs = 50;
  Request request;
  request.verb = Verb::kClose;
  request.link = link;
  absl::Status status;
  // A reply can get lost where descriptors are short. Closing twice is closing once.
  for (int i = 0; i < kAttempts; ++i) {
    status = Ask(socket_.get(), request, {}).status();
    if (status.ok() || HasEnded(kPauseMs)) {
      ++closed_;
      return absl::OkStatus();
    }
  }
  Send(socket_.get(), request, {});  // nobody will see when
  return status;
}

}  // namespace sbump
