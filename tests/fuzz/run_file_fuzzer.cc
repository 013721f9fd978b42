// A run's file: whatever it is, it is read or refused, and what is read is computed and reported
// without a crash, and without a number that is none.
#include <cstdint>
#include <string>

#include "client/experiment/recompute.h"
#include "client/experiment/run_file.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sbump;
  const auto file = ParseRunFile("file", {reinterpret_cast<const char*>(data), size});
  if (!file.ok()) {
    Require(absl::IsInvalidArgument(file.status()) || absl::IsResourceExhausted(file.status()));
    return 0;
  }
  for (const auto* phase : {&file->main, &file->confirmation}) {
    if (!*phase) continue;
    const Recomputed made = Recompute(file->experiment, **phase);
    for (const GroupEstimate& group : made.estimate.groups)
      Require(group.criticality == group.criticality && group.p >= 0 && group.p <= 1);
  }
  return 0;
}
