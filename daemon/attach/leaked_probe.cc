#include "daemon/attach/leaked_probe.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "daemon/attach/uprobe_link.h"
#include "daemon/base/fd.h"
#include "daemon/process/proc_maps.h"

namespace sbump {
namespace {

// The mapping that the probe was placed in, if it is still there.
std::optional<Mapping> MappingOf(const std::vector<Mapping>& mappings, const PlacedProbe& probe) {
  const auto found = std::ranges::find_if(mappings, [&](const Mapping& m) {
    return m.Contains(probe.address) && m.device == probe.device && m.inode == probe.inode &&
           m.file_offset + (probe.address.value - m.start.value) == probe.file_offset;
  });
  return found == mappings.end() ? std::nullopt : std::optional(*found);
}

bool IsChanged(const MemoryReader& memory, const PlacedProbe& probe, uint8_t of_file) {
  const absl::StatusOr<uint8_t> byte = memory.ReadValue<uint8_t>(probe.address);
  return byte.ok() && *byte != of_file;
}

// True where a breakpoint was there and is gone.
absl::StatusOr<bool> RemoveOne(const TargetProcess& process, const MemoryReader& memory,
                               const PlacedProbe& probe, const Mapping& mapping) {
  std::string path;
  SB_ASSIGN_OR_RETURN(const Fd file, OpenMappedFile(process, mapping, &path));
  uint8_t of_file = 0;
  if (pread(file.get(), &of_file, 1, static_cast<off_t>(probe.file_offset)) != 1) return false;
  if (!IsChanged(memory, probe, of_file)) return false;
  {
    SB_ASSIGN_OR_RETURN(
        const Fd again,
        OpenUprobeEvent({.pid = process.pid(), .path = path, .file_offset = probe.file_offset}));
  }
  return !IsChanged(memory, probe, of_file);
}

}  // namespace

absl::StatusOr<int> RemoveLeakedNativeProbes(const TargetProcess& process,
                                             const MemoryReader& memory,
                                             const std::vector<PlacedProbe>& probes) {
  if (probes.empty()) return 0;
  SB_ASSIGN_OR_RETURN(const std::vector<Mapping> mappings, ReadMaps(process));
  int removed = 0;
  for (const PlacedProbe& probe : probes) {
    const std::optional<Mapping> mapping = MappingOf(mappings, probe);
    if (!mapping) continue;
    SB_ASSIGN_OR_RETURN(const bool gone, RemoveOne(process, memory, probe, *mapping));
    removed += gone ? 1 : 0;
  }
  return removed;
}

}  // namespace sbump
