// Where a probe sees what a function returns, without a probe on the return itself: the kernel
// single-steps a `ret`, and a uretprobe changes the stack (it kills a thread that switches stacks
// in between, and breaks unwinding).
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/process/elf_file.h"
#include "daemon/text/register.h"

namespace sbump {

struct ReturnSite {
  uint64_t vaddr = 0;                   // a conditional jump that the kernel emulates
  RegisterNumber result = kNoRegister;  // holds what the function is going to return
  // How much lower the stack pointer is there than at the function's first instruction.
  uint64_t stack_bytes = 0;

  bool operator==(const ReturnSite&) const = default;
};

// Of the ways on which the function returns what something that it called returned: each passes
// exactly one of these places, once. Ways on which it returns something else, or a null (of a
// lookup that failed before anything was called), may pass one or none.
//
// What is proven, over all instructions that are reached from the entry: that from a site on, on
// every way to every return, the register's value is the one that is returned (through moves, and
// slots of the function's own frame); that no way leads from a site to a site; and that no returned
// result of a call gets past them. kUnimplemented, saying why: the function is built in a way in
// which that cannot be.
absl::StatusOr<std::vector<ReturnSite>> FindReturnSites(const ElfFile& elf, uint64_t function);

}  // namespace sbump
