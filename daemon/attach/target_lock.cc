#include "daemon/attach/target_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr uint64_t kPatienceNs = 5'000'000'000;

// Fixed, so that all daemons of the machine agree. Not /run/lock: everybody may create files there.
constexpr const char* kDirectories[] = {"/run/sbumpd", "/run/sbumpd/locks"};

// Ours alone: who could write there could take locks away, or hold them.
absl::Status MakeDirectory(const char* path) {
  if (mkdir(path, 0700) != 0 && errno != EEXIST) {
    return Annotate(ErrnoStatus(errno, StrCat("mkdir ", path)),
                    "sbumpd needs to be root, and takes its locks there");
  }
  struct stat st;
  if (lstat(path, &st) != 0) return ErrnoStatus(errno, path);
  if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 0022) == 0)
    return absl::OkStatus();
  return absl::PermissionDeniedError(
      StrCat(path,
             " is not a directory of this user that others cannot write to; sbumpd needs to be "
             "root, and takes its locks there"));
}

// Empty: it has not written it yet.
std::string ReadHolder(int fd) {
  char text[256];
  const ssize_t n = pread(fd, text, sizeof(text), 0);
  return std::string(text, static_cast<size_t>(std::max<ssize_t>(n, 0)));
}

// The file may have been removed between our open and our flock by a holder that ended.
bool StillThere(int fd, const std::string& path) {
  struct stat ours, there;
  return fstat(fd, &ours) == 0 && stat(path.c_str(), &there) == 0 && ours.st_ino == there.st_ino;
}

// Held by RemoveStale(), whatever a killed daemon left in the file: who has the process holds it
// alone.
bool OnlyLookedAt(int fd) { return flock(fd, LOCK_SH | LOCK_NB) == 0; }

std::string PathOf(const TargetId& target) {
  return StrCat(kDirectories[1], "/", target.pid, "-", target.start_ticks);
}

}  // namespace

absl::StatusOr<TargetLock> TargetLock::Acquire(const TargetId& target, const std::string& holder) {
  const uint64_t give_up_ns = MonotonicNs() + kPatienceNs;
  for (;;) {
    bool is_soon_free = false;
    absl::StatusOr<TargetLock> lock = TryAcquire(target, holder, is_soon_free);
    if (!is_soon_free || MonotonicNs() > give_up_ns) return lock;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

absl::StatusOr<TargetLock> TargetLock::TryAcquire(const TargetId& target, const std::string& holder,
                                                  bool& is_soon_free) {
  for (const char* directory : kDirectories) SB_RETURN_IF_ERROR(MakeDirectory(directory));
  const std::string path = PathOf(target);
  for (int attempt = 0; attempt < 10; ++attempt) {
    Fd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.valid()) {
      return Annotate(ErrnoStatus(errno, StrCat("opening the lock ", path)),
                      "sbumpd needs to be root");
    }
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return ErrnoStatus(errno, StrCat("locking ", path));
      const std::string other = ReadHolder(file.get());
      // Two recoveries must not wait for each other.
      is_soon_free = other.empty() || other == kDoctor ||
                     (other == kRecovery && holder != kRecovery) || OnlyLookedAt(file.get());
      return absl::AlreadyExistsError(
          StrCat("pid ", target.pid, " is held by ", other.empty() ? "another session" : other,
                 ": one session per process; end that one first (sbumpctl detach --pid ",
                 target.pid, ")"));
    }
    if (!StillThere(file.get(), path)) continue;
    if (ftruncate(file.get(), 0) != 0 || pwrite(file.get(), holder.data(), holder.size(), 0) < 0) {
      return ErrnoStatus(errno, StrCat("writing ", path));
    }
    return TargetLock(std::move(file), path);
  }
  return absl::UnavailableError(StrCat("the lock ", path, " keeps vanishing"));
}

void TargetLock::RemoveStale() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kDirectories[1], error)) {
    Fd file(open(entry.path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.valid() && OnlyLookedAt(file.get())) unlink(entry.path().c_str());
  }
}

TargetLock::~TargetLock() {
  if (file_.valid()) unlink(path_.c_str());
}

}  // namespace sbump
