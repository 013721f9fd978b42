// Damage done to the heap of a small sound CPython: pairs of a place and what is written there, a
// byte or a pointer to another place. The walk must end in time, and give what the readers vouch
// for.
#include <cstdint>
#include <set>

#include "daemon/base/clock.h"
#include "daemon/cpython/heap_walk.h"
#include "tests/fakes/fake_python.h"
#include "tests/fuzz/damage.h"
#include "tests/fuzz/require.h"

namespace sbump {
namespace {

// Where objects lie: [begin, end).
struct Scene {
  explicit Scene(int minor) : python(minor) {
    begin = python.Allocate(0);
    const RemoteAddr inner = python.NewCode({.name = "inner", .qualname = "f.<locals>.inner"});
    const RemoteAddr code = python.NewCode({.name = "f", .consts = {inner, python.NewTuple({})}});
    for (int generation = 0; generation < 4; ++generation) {
      python.NewFunction(code, "f", "mod", generation);
      python.NewFunction(inner, "f.<locals>.inner", "mod", generation);
    }
    python.SetModules(python.NewDict({{python.NewStr("mod"), python.NewModule("mod", "/m.py")},
                                      {python.NewStr("b"), python.NewModule("b", "/b.py")}}));
    end = python.Allocate(0);
  }
  FakePython python;
  RemoteAddr begin, end;
};

}  // namespace
}  // namespace sbump

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kLimitNs = 20'000'000;
  if (size < 1 || size > 4096) return 0;
  sbump::Scene scene(8 + data[0] % 8);
  sbump::Damage(scene.python.memory(), scene.begin, scene.end, scene.python.interpreter().code_type,
                data + 1, size - 1);
  const double begin_s = sbump::ProcessorSeconds();
  const auto walk = sbump::WalkHeap(scene.python.memory(), scene.python.interpreter(),
                                    sbump::MonotonicNs() + kLimitNs);
  sbump::Require(sbump::ProcessorSeconds() - begin_s < sbump::kMostProcessorSeconds);
  if (!walk.ok()) return 0;
  std::set<sbump::RemoteAddr> seen;
  for (const sbump::CodeObject& code : walk->codes) {
    sbump::Require(seen.insert(code.head.addr).second);
    sbump::Require(code.head.addr.Plausible());
  }
  sbump::Require(walk->incomplete != walk->incomplete_why.empty());
  return 0;
}
