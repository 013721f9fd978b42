// Where a probe sees that a function is about to return, and what: without a probe on the `ret`
// itself where that can be had, since the kernel single-steps it.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/process/elf_file.h"
#include "daemon/text/control_flow.h"
#include "daemon/text/register.h"

namespace sbump {

struct ReturnView {
  uint64_t vaddr = 0;     // a conditional jump that the kernel emulates, else the `ret`
  bool emulated = false;  // the former
  // There the stack pointer that the function began with is this register (%rsp or %rbp) and so
  // much.
  RegisterNumber frame = kNoRegister;
  int64_t frame_offset = 0;
  // There %rax will be what is in this register; or, with an offset, in the memory so far from
  // where it (%rsp or %rbp) leads.
  RegisterNumber result = kNoRegister;
  std::optional<int64_t> result_offset;

  bool operator==(const ReturnView&) const = default;
};

// Of the `ret` at `vaddr`, which `code` of the function's `body` reaches. The jump is the stack
// protector's, say: every way to the `ret` passes it, it is the last thing that can go two ways,
// and its other way leaves the body, or ends.
ReturnView ViewOfReturn(const ElfFile& elf, const ReachedCode& code, const CodeRange& body,
                        uint64_t vaddr);

}  // namespace sbump
