#include "daemon/attach/probe_text.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <span>

#include "daemon/base/fd.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr uint64_t kProbeBytes = 16;

// What cannot be compared is not proven.
uint32_t CountBytesChangedAt(uint64_t vaddr, const MemoryReader& memory,
                             const Interpreter& interpreter) {
  absl::StatusOr<std::span<const std::byte>> expected =
      interpreter.file->elf->BytesAt(vaddr, kProbeBytes);
  std::array<std::byte, kProbeBytes> found;
  if (!expected.ok() || !memory.Read(RemoteAddr{vaddr + interpreter.load_bias}, found).ok()) {
    return 1;
  }
  uint32_t changed = 0;
  for (size_t i = 0; i < kProbeBytes; ++i) changed += found[i] != (*expected)[i];
  return changed;
}

// Opens the kernel's probe without a program.
absl::StatusOr<Fd> PlaceProbe(pid_t pid, const std::string& path, uint64_t file_offset) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  std::ifstream("/sys/bus/event_source/devices/uprobe/type") >> attributes.type;
  if (attributes.type == 0) return absl::FailedPreconditionError("the kernel has no uprobes");
  attributes.uprobe_path = reinterpret_cast<uint64_t>(path.c_str());
  attributes.probe_offset = file_offset;
  Fd event(static_cast<int>(syscall(SYS_perf_event_open, &attributes, pid, /*cpu=*/-1,
                                    /*group_fd=*/-1, PERF_FLAG_FD_CLOEXEC)));
  if (!event.valid()) {
    return ErrnoStatus(errno, StrCat("uprobe at offset ", file_offset, " of ", path));
  }
  return event;
}

}  // namespace

std::vector<uint64_t> ProbedAddresses(const Interpreter& interpreter) {
  const Sites& sites = interpreter.file->sites;
  std::vector<uint64_t> vaddrs = {sites.hit.vaddr, interpreter.dealloc_site};
  if (sites.introduce_vaddr) vaddrs.push_back(*sites.introduce_vaddr);
  return vaddrs;
}

uint32_t CountTextBytesChanged(const MemoryReader& memory, const Interpreter& interpreter) {
  uint32_t changed = 0;
  for (uint64_t vaddr : ProbedAddresses(interpreter)) {
    changed += CountBytesChangedAt(vaddr, memory, interpreter);
  }
  return changed;
}

absl::StatusOr<int> RemoveLeakedProbes(pid_t pid, const MemoryReader& memory,
                                       const Interpreter& interpreter) {
  int removed = 0;
  for (uint64_t vaddr : ProbedAddresses(interpreter)) {
    if (CountBytesChangedAt(vaddr, memory, interpreter) == 0) continue;
    SB_ASSIGN_OR_RETURN(const uint64_t file_offset, interpreter.file->elf->FileOffset(vaddr));
    { SB_ASSIGN_OR_RETURN(const Fd probe, PlaceProbe(pid, interpreter.probe_path, file_offset)); }
    removed += CountBytesChangedAt(vaddr, memory, interpreter) == 0;
  }
  return removed;
}

}  // namespace sbump
