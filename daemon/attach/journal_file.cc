// The part of a journal that is about its file: where it lies, whose it is, and how it goes.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "daemon/attach/journal.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Where a journal lies that another one may take the place of.
std::string AsidePath(const std::string& path) {
  static std::atomic<uint64_t> number = 0;
  return StrCat(path, ".aside-", number++);
}

// Nothing that is there is written over.
absl::Status MoveTo(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0)
    return absl::OkStatus();
  // A file system that does not know of that (renameat2(2)).
  if (errno == EINVAL && link(from.c_str(), to.c_str()) == 0 && unlink(from.c_str()) == 0)
    return absl::OkStatus();
  return ErrnoStatus(errno, StrCat("moving ", from, " to ", to));
}

bool IsAt(const std::string& path, const Fd& file) {
  struct stat ours, there;
  return fstat(file.get(), &ours) == 0 && stat(path.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

}  // namespace

std::string Journal::DirectoryOf(const std::string& state_dir) { return state_dir + "/journal"; }

std::string Journal::PathOf(const std::string& state_dir, const TargetId& target) {
  return StrCat(DirectoryOf(state_dir), "/", target.pid, "-", target.start_ticks);
}

absl::Status Journal::StepAside() {
  if (is_aside_) return absl::OkStatus();
  for (;;) {
    const std::string aside = AsidePath(path_);
    const absl::Status status = MoveTo(path_, aside);
    if (absl::IsAlreadyExists(status)) continue;  // what another daemon left
    SB_RETURN_IF_ERROR(status);
    path_ = aside;
    is_aside_ = true;
    return absl::OkStatus();
  }
}

absl::Status Journal::KeepForCopies() { return KeepForCopies(path_, Text(SIZE_MAX)); }

// Written anew, so that it is whole and no longer than it must be. Killed in between, two are left.
absl::Status Journal::KeepForCopies(const std::string& path, std::string_view text) {
  text = text.substr(0, text.find('\0'));
  text = text.substr(0, text.rfind('\n') + 1);
  Fd file;
  std::string aside;
  do {
    aside = AsidePath(path);
    file = Fd(open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  } while (!file.valid() && errno == EEXIST);
  if (!file.valid()) return ErrnoStatus(errno, StrCat("creating ", aside));
  flock(file.get(), LOCK_EX);
  Journal kept(std::move(file), aside);
  absl::Status status = kept.Write(StrCat(text, kUndoneLine, "\n"));
  if (status.ok() && unlink(path.c_str()) != 0)
    status = ErrnoStatus(errno, StrCat("removing ", path));
  if (!status.ok()) unlink(aside.c_str());
  return status;
}

absl::StatusOr<Fd> Journal::Claim(const std::string& path) {
  Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) return ErrnoStatus(errno, StrCat("opening ", path));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, StrCat("locking ", path));
    return absl::AlreadyExistsError(StrCat(path, " is a session's"));
  }
  if (!IsAt(path, file))
    return absl::NotFoundError(StrCat(path, " was its session's, which has ended"));
  return file;
}

void Journal::RemoveClaimed(const std::string& path, const Fd& claim) {
  if (IsAt(path, claim)) unlink(path.c_str());
}

absl::Status Journal::Remove() {
  if (unlink(path_.c_str()) != 0 && errno != ENOENT)
    return ErrnoStatus(errno, StrCat("removing ", path_));
  return absl::OkStatus();
}

std::vector<std::string> Journal::List(const std::string& state_dir) {
  std::vector<std::string> paths;
  DIR* directory = opendir(DirectoryOf(state_dir).c_str());
  if (directory == nullptr) {
    if (errno != ENOENT)
      Log(LogLevel::kError, "journals_not_listed",
          {{"directory", DirectoryOf(state_dir)}, {"why", std::generic_category().message(errno)}});
    return paths;
  }
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.') paths.push_back(DirectoryOf(state_dir) + "/" + entry->d_name);
  }
  closedir(directory);
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace sbump
