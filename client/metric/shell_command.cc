#include "client/metric/shell_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "client/printable.h"
#include "daemon/base/clock.h"
#include "daemon/base/fd.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

constexpr size_t kMostErrorText = 4096;

struct Pipe {
  Fd read;
  Fd write;
};

absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  Pipe pipe{Fd(fds[0]), Fd(fds[1])};
  fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

// A group of processes; killed and reaped with it.
class Group {
 public:
  Group() = default;
  explicit Group(pid_t pid) : pid_(pid), exit_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() { Reap(); }

  int exit_fd() const { return exit_.get(); }
  // As waitpid() gives it; what is left of the group dies.
  int Reap() {
    if (pid_ <= 0) return status_;
    kill(-pid_, SIGKILL);  // while the first of them is a zombie at most: its number is not reused
    while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status_;
  }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  Fd exit_;
};

// 0: an error, in errno.
pid_t Spawn(const std::string& command, int out, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (int signal_number : {SIGPIPE, SIGINT, SIGTERM}) sigaddset(&usual, signal_number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string shell = "/bin/sh", flag = "-c", text = command;
  char* const words[] = {shell.data(), flag.data(), text.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, "/bin/sh", &actions, &attributes, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  errno = error;
  return error == 0 ? pid : 0;
}

// What is there now, `most` bytes of it; the end of the stream closes it.
void ReadSome(Fd& fd, std::string& text, size_t most) {
  char buffer[16 * 1024];
  // More than a pipe holds; one that is filled as fast as it is read has no end.
  for (int chunk = 0; chunk < 16 && fd.valid(); ++chunk) {
    const ssize_t count = read(fd.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return fd.Reset();
    text.append(buffer, std::min(static_cast<size_t>(count), most - text.size()));
  }
}

struct Streams {
  Fd out;
  Fd err;
  std::string out_text;
  std::string err_text;

  // One byte more than is allowed tells that there was more.
  bool Read() {
    ReadSome(out, out_text, kMostCommandOutput + 1);
    ReadSome(err, err_text, kMostErrorText);
    return out_text.size() <= kMostCommandOutput;
  }
};

// Until the shell has ended.
absl::Status Follow(Streams& streams, const Group& group, uint64_t timeout_ns,
                    const StopSignal& stop) {
  const uint64_t deadline_ns = MonotonicNs() + timeout_ns;
  while (true) {
    const uint64_t now_ns = MonotonicNs();
    if (stop.is_set()) return absl::CancelledError("stopped");
    if (now_ns >= deadline_ns) {
      return absl::DeadlineExceededError(
          StrCat("the command took longer than ", FormatDuration(timeout_ns), " and was killed"));
    }
    pollfd fds[] = {{streams.out.get(), POLLIN, 0},
                    {streams.err.get(), POLLIN, 0},
                    {group.exit_fd(), POLLIN, 0},
                    {stop.fd(), POLLIN, 0}};
    poll(fds, 4, static_cast<int>((deadline_ns - now_ns) / 1'000'000 + 1));
    const bool ended = fds[2].revents != 0;  // looked at before the last of its output is read
    if (!streams.Read()) {
      return absl::DataLossError(
          StrCat("the command prints more than ", kMostCommandOutput, " bytes; print one number"));
    }
    if (ended) return absl::OkStatus();
  }
}

absl::Status CheckExit(int status, const std::string& error_text) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  const std::string how = WIFEXITED(status) ? StrCat("exit status ", WEXITSTATUS(status))
                                            : StrCat("signal ", WTERMSIG(status));
  const std::string_view first_line =
      std::string_view(error_text).substr(0, std::min<size_t>(error_text.find('\n'), 200));
  return absl::UnavailableError(StrCat(
      "the command failed (", how,
      "): ", first_line.empty() ? "it said nothing on standard error" : Printable(first_line)));
}

}  // namespace

absl::StatusOr<std::string> OutputOf(const std::string& command, uint64_t timeout_ns,
                                     const StopSignal& stop) {
  SB_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  SB_ASSIGN_OR_RETURN(Pipe err, MakePipe());
  const pid_t pid = Spawn(command, out.write.get(), err.write.get());
  if (pid == 0) {
    return absl::UnavailableError(
        StrCat("the command cannot be run: ", ErrnoStatus(errno, "/bin/sh").message()));
  }
  Group group(pid);
  out.write.Reset();
  err.write.Reset();
  Streams streams{std::move(out.read), std::move(err.read), "", ""};
  SB_RETURN_IF_ERROR(Follow(streams, group, timeout_ns, stop));
  SB_RETURN_IF_ERROR(CheckExit(group.Reap(), streams.err_text));
  return std::move(streams.out_text);
}

}  // namespace sbump
