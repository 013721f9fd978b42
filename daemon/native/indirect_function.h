// What an indirect function (STT_GNU_IFUNC) stands for in one process: libc's memcpy is whichever
// of a dozen its resolver chose for this processor.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "daemon/native/mapped_files.h"
#include "daemon/process/remote_memory.h"
#include "daemon/text/entry_site.h"

namespace sbump {

struct IndirectFunction {
  const OpenedCode& code;
  uint64_t resolver_vaddr = 0;
  std::string_view name;
  bool only_one_of_its_name = false;  // no other version of it is in the file
};

// The loader has written the choice into slots of the process: those of the file itself that name
// the resolver, and, where the name is clear, any file's that import the name (`visit_others` shows
// them). Proven when all that lead into the file agree; else kFailedPrecondition, in words. The
// resolver is not run.
absl::StatusOr<FunctionText> ChosenFunction(
    const IndirectFunction& function, const MemoryReader& memory,
    const std::function<void(const std::function<void(const OpenedCode&)>&)>& visit_others);

}  // namespace sbump
