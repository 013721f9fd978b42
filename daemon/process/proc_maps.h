// /proc/PID/maps as values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/fd.h"
#include "daemon/process/remote_memory.h"
#include "daemon/process/target_process.h"

namespace sbump {

struct Mapping {
  RemoteAddr start;
  RemoteAddr end;  // exclusive
  bool readable = false;
  bool writable = false;
  bool executable = false;
  uint64_t file_offset = 0;
  uint64_t device = 0;  // makedev(major, minor)
  uint64_t inode = 0;   // 0: no file behind it
  // As the target's mount namespace sees it (a chroot is not subtracted), unescaped, without "
  // (deleted)".
  std::string path;
  bool deleted = false;

  bool Contains(RemoteAddr addr) const { return addr >= start && addr < end; }
};

// At most kMaxMappings lines; more, or a line that does not parse, is an error that names it.
inline constexpr size_t kMaxMappings = 200'000;
absl::StatusOr<std::vector<Mapping>> ParseMaps(std::string_view text);
absl::StatusOr<std::vector<Mapping>> ReadMaps(const TargetProcess& process);

// Opens the file behind `mapping` read-only through the target's own view: /proc/PID/map_files,
// which leads to the very file that is mapped, also after it was deleted; without the right to
// that, /proc/PID/root + path, checked to be the same inode. Only regular files; nothing that the
// target put in the path is opened. `opened_path` (optional) receives a path in /proc that a uprobe
// can be placed through: /proc/PID/root + path when that is the same file, else the map_files one,
// which lasts until the mapping changes.
absl::StatusOr<Fd> OpenMappedFile(const TargetProcess& process, const Mapping& mapping,
                                  std::string* opened_path);

}  // namespace sbump
