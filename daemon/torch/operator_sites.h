// The operators of torch's dispatcher in its library, and where a probe sees each begin and return.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/process/elf_file.h"
#include "daemon/text/return_view.h"
#include "daemon/torch/operator_signature.h"

namespace sbump {

struct OperatorSite {
  OperatorSignature signature;
  uint64_t begin_vaddr =
      0;           // at::_ops::NAME::call, or behind its endbr64: all is as the caller left it
  ReturnView end;  // of the only `ret` that is reached from there
};

struct OperatorSites {
  std::vector<OperatorSite> sites;    // by address
  std::vector<std::string> left_out;  // "softmax_int: why"
};

// kNotFound: the file has none. kDeadlineExceeded: it took until then (MonotonicNs()); torch's
// takes some 0.4 s.
absl::StatusOr<OperatorSites> FindOperators(const ElfFile& elf, uint64_t deadline_ns);

}  // namespace sbump
