// Damage done to what a process says of its own layout: the offsets that 3.13 and later publish,
// the members of its types, its interpreters and threads. What passes the checks is what every
// later read goes by: so it is used. First byte: the version; then a place, and what is written
// there.
#include <cstdint>

#include "daemon/base/clock.h"
#include "daemon/cpython/heap_walk.h"
#include "daemon/cpython/interpreter_state.h"
#include "daemon/cpython/offset_checks.h"
#include "tests/fakes/fake_python.h"
#include "tests/fuzz/require.h"

namespace sbump {
namespace {

constexpr uint64_t kLimitNs = 20'000'000;
constexpr size_t kOpBytes = 5;

// [0]: where. [1], [2]: which word of it. [3]: what. [4]: the value.
void Damage(FakePython& python, RemoteAddr end, const uint8_t* op) {
  const RemoteAddr objects = python.interpreter().code_type;  // the first of all
  const uint64_t word = op[1] | uint64_t{op[2]} << 8;
  const uint64_t words = (end.value - objects.value) / 8;
  const RemoteAddr at = op[0] % 4 == 0 ? python.interpreter().runtime + 8 * (op[1] % 128)
                        : op[0] % 4 == 1
                            ? python.interpreter().runtime + static_cast<int64_t>(8 * (word % 8192))
                            : objects + static_cast<int64_t>(8 * (word % words));
  const uint64_t old = python.memory().ReadValue<uint64_t>(at).value_or(0);
  switch (op[3] % 4) {
    case 0:
      return python.memory().Put(at, old + 8 * op[4]);
    case 1:
      return python.memory().Put(at, old ^ uint64_t{1} << op[4] % 64);
    case 2:
      return python.memory().Put(at, uint64_t{op[4]} << op[3] / 4 % 64);
    default:
      return python.memory().Put(at, objects + static_cast<int64_t>(8 * (op[4] * 257u % words)));
  }
}

void UseWhatPassed(FakePython& python, const Interpreter& interpreter) {
  const Layout& layout = interpreter.layout();
  for (const int32_t offset : {layout.interpreter.next, layout.interpreter.threads_head,
                               layout.interpreter.modules, layout.runtime.interpreters_head}) {
    Require(offset >= 0 && offset % 8 == 0 && offset <= 4 << 20);
  }
  const auto listed = ListInterpreters(python.memory(), interpreter);
  Require(listed.ok() && !listed->empty() && listed->size() <= 64);
  const double begin_s = ProcessorSeconds();
  (void)WalkHeap(python.memory(), interpreter, MonotonicNs() + kLimitNs);
  Require(ProcessorSeconds() - begin_s < kMostProcessorSeconds);
}

}  // namespace
}  // namespace sbump

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1 || size > 512) return 0;
  constexpr size_t kVersions = std::size(sbump::kFakeMinors);
  sbump::FakePython python(sbump::kFakeMinors[data[0] % kVersions]);
  python.AddThread(python.AddInterpreter());
  python.NewFunction(python.NewCode({}));
  const sbump::RemoteAddr end = python.Allocate(0);
  for (size_t at = 1; at + sbump::kOpBytes <= size; at += sbump::kOpBytes)
    sbump::Damage(python, end, data + at);
  sbump::Interpreter interpreter = python.interpreter();
  const auto checks = sbump::CheckOffsets(python.memory(), interpreter);
  if (checks.ok()) sbump::UseWhatPassed(python, interpreter);
  return 0;
}
