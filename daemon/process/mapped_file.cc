// OpenMappedFile(), declared in proc_maps.h. The target owns the paths: it may rename, replace or
// redirect them at any moment, so a name is only looked up with O_PATH (which opens no device and
// waits for no FIFO), what it led to is compared by inode, and only then is that very file opened.
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/process/proc_maps.h"

namespace sbump {
namespace {

struct Found {
  Fd path_fd;  // O_PATH
  struct stat stat;
};

std::string MapFilesName(const Mapping& m) {
  return absl::StrCat("map_files/", absl::Hex(m.start.value), "-", absl::Hex(m.end.value));
}

std::optional<Found> Checked(Fd fd, const Mapping& mapping) {
  Found found{.path_fd = std::move(fd), .stat = {}};
  if (!found.path_fd.valid() || fstat(found.path_fd.get(), &found.stat) != 0) return std::nullopt;
  // The device is not compared: overlayfs and btrfs report one in maps and another in stat().
  if (found.stat.st_ino != mapping.inode) return std::nullopt;
  return found;
}

// The kernel's own link from the mapping to its file; needs CAP_SYS_ADMIN or
// CAP_CHECKPOINT_RESTORE.
Fd OpenByMapping(const TargetProcess& process, const Mapping& mapping) {
  const std::string name = MapFilesName(mapping);
  return Fd(openat(process.proc_dirfd(), name.c_str(), O_PATH | O_CLOEXEC));
}

// By its path below the target's root. A path in maps has no symbolic links, so one found now was
// put there since, and might lead out of the target's root.
std::optional<Found> FindByPath(const TargetProcess& process, const Mapping& mapping) {
  const Fd root(openat(process.proc_dirfd(), "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return std::nullopt;
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const long fd = syscall(SYS_openat2, root.get(), mapping.path.c_str(), &how, sizeof how);
  return Checked(Fd(static_cast<int>(fd)), mapping);
}

bool SameFile(const Found& a, const Found& b) {
  return a.stat.st_dev == b.stat.st_dev && a.stat.st_ino == b.stat.st_ino;
}

// Through the mapping another file is opened where overlayfs made a copy of one with several names.
absl::Status Gone(const TargetProcess& process, const Mapping& mapping) {
  const std::string what =
      absl::StrCat("pid ", process.pid(), ": ", mapping.path, ": the file that the process runs ");
  if (OpenByMapping(process, mapping).valid()) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, "was copied under it (an overlay file system?); restart the process, ",
                     "then attach"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      what, "was deleted or replaced (by an upgrade?), and its mapping cannot be opened (needs ",
      "CAP_SYS_ADMIN); restart the process and try again"));
}

absl::StatusOr<Fd> OpenForReading(const Found& found, pid_t pid, const Mapping& mapping) {
  const std::string what = absl::StrCat("pid ", pid, ": ", mapping.path);
  if (!S_ISREG(found.stat.st_mode)) {
    return absl::UnimplementedError(absl::StrCat(what, ": is not a regular file"));
  }
  const std::string link = absl::StrCat("/proc/self/fd/", found.path_fd.get());
  Fd file(open(link.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, absl::StrCat(what, ": open"));
  return file;
}

}  // namespace

absl::StatusOr<Fd> OpenMappedFile(const TargetProcess& process, const Mapping& mapping,
                                  std::string* opened_path) {
  const pid_t pid = process.pid();
  if (mapping.inode == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("pid ", pid, ": no file behind the mapping at ", ToString(mapping.start)));
  }
  const auto by_mapping = Checked(OpenByMapping(process, mapping), mapping);
  const auto by_path = FindByPath(process, mapping);
  if (!by_mapping && !by_path) return Gone(process, mapping);
  if (opened_path != nullptr) {
    const bool path_leads_there = by_path && (!by_mapping || SameFile(*by_mapping, *by_path));
    *opened_path = path_leads_there ? absl::StrCat("/proc/", pid, "/root", mapping.path)
                                    : absl::StrCat("/proc/", pid, "/", MapFilesName(mapping));
  }
  return OpenForReading(by_mapping ? *by_mapping : *by_path, pid, mapping);
}

}  // namespace sbump
