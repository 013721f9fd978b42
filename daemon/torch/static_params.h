// What a module says of itself beside its parameters.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "daemon/cpython/types.h"
#include "daemon/cpython/value.h"

namespace sbump {

using NamedValues = std::vector<std::pair<std::string, Value>>;

// Under the names, in the order and in the form in which vLLM's layerwise tracing tells them
// (process_layer_params in vllm/utils/nvtx_pytorch_hooks.py): "filter_dim" of a convolution's
// kernel_size, and so on. `attributes` are the plain ones of the module. Empty: a type that it has
// nothing for.
NamedValues StaticParams(const TypeObject& type, const NamedValues& attributes);

// "{'in_features': 8, 'out_features': 4}"
std::string ReprOfDict(const NamedValues& values);

}  // namespace sbump
