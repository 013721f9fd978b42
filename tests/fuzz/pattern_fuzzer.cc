// A chain of nodes as somebody writes it: it is read, or refused in words.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "client/graph/subgraph_pattern.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto pattern = sbump::SubgraphPattern::Parse({reinterpret_cast<const char*>(data), size});
  if (!pattern.ok())
    sbump::Require(absl::IsInvalidArgument(pattern.status()) &&
                   !pattern.status().message().empty());
  return 0;
}
