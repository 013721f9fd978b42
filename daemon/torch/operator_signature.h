// Where a call of an operator of torch's dispatcher (at::_ops::NAME::call) has its tensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/shared/operator.h"
#include "daemon/base/status.h"

namespace sbump {

struct OperatorSignature {
  std::string name;  // of its schema: "softmax.int"
  sb_operator call{};

  bool operator==(const OperatorSignature& other) const;
};

// From what two sources say, which must agree: the function's C++ arguments
// ("at::_ops::softmax_int:: call(at::Tensor const&, long)"), and the operator's schemas as the
// library has them ("softmax.int( Tensor self, int dim) -> Tensor"), which alone say what it
// returns. Of tensors behind an argument whose way of being passed is not known, or behind
// SB_OPERATOR_ARGUMENTS, nothing is told
// (`partial`). kUnimplemented, saying why: it cannot be told where the tensors are.
//
// How things are passed: System V ABI, AMD64 supplement 1.0, 3.2.3; Itanium C++ ABI, 3.1. The
// types: torchgen/api/cpp.py and torchgen/api/types at v1.13.1 and v2.6.0.
absl::StatusOr<OperatorSignature> SignatureOf(std::string_view demangled,
                                              const std::vector<std::string_view>& schemas);

// Of "softmax.int(Tensor self, ...": "softmax.int".
std::string_view SchemaName(std::string_view schema);

}  // namespace sbump
