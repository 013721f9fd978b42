#include "daemon/attach/probe_text.h"

#include <array>
#include <span>

#include "daemon/attach/uprobe_link.h"
#include "daemon/base/fd.h"

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

}  // namespace

std::vector<uint64_t> ProbedAddresses(const Interpreter& interpreter) {
  const Sites& sites = interpreter.file->sites;
  std::vector<uint64_t> vaddrs = {sites.hit.vaddr, interpreter.dealloc_site};
  if (sites.introduce_vaddr) vaddrs.push_back(*sites.introduce_vaddr);
  vaddrs.insert(vaddrs.end(), interpreter.file->interpreter_makers.begin(),
                interpreter.file->interpreter_makers.end());
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
    {
      SB_ASSIGN_OR_RETURN(const Fd probe, OpenUprobeEvent({.pid = pid,
                                                           .path = interpreter.probe_path,
                                                           .file_offset = file_offset}));
    }
    removed += CountBytesChangedAt(vaddr, memory, interpreter) == 0;
  }
  return removed;
}

}  // namespace sbump
