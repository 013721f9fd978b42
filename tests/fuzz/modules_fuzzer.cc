// Damage done to a small model in memory. Reading it must end in time, and what it tells must hold
// together.
#include <cstdint>
#include <set>

#include "daemon/base/clock.h"
#include "daemon/cpython/layout.h"
#include "daemon/match/glob.h"
#include "daemon/torch/read_modules.h"
#include "tests/fuzz/damage.h"
#include "tests/fuzz/require.h"
#include "tests/torch/fake_torch.h"

namespace sbump {
namespace {

constexpr FakeTensorPlaces kPlaces[] = {kTorch113, kTorch26, kTorch214};

struct Scene {
  Scene(int minor, FakeTensorPlaces places) : torch(minor, places) {
    FakeObjects& objects = torch.objects();
    begin = objects.python().Allocate(0);
    const RemoteAddr linear = torch.Class("torch.nn.modules.linear", "Linear");
    const RemoteAddr weight = torch.NewTensor({.dims = {4, 3}});
    const RemoteAddr leaf = torch.NewModule(
        {.type = linear,
         .parameters = {{"weight", weight}, {"bias", torch.NewTensor({.dims = {4}})}},
         .attributes = {{"in_features", objects.Int(3)},
                        {"out_features", objects.Int(4)},
                        {"eps", objects.Float(1e-5)},
                        {"names", objects.List({objects.Str("a"), objects.Tuple({})})}}});
    const RemoteAddr block =
        torch.NewModule({.children = {{"fc", leaf}, {"twin", leaf}, {"none", objects.None()}},
                         .buffers = {{"mask", torch.NewTensor({.dims = {2, 1, 1, 1, 1, 3}})}},
                         .place = AttributePlace::kValues});
    torch.NewModule({.children = {{"0", block}, {"1", torch.NewModule({})}},
                     .parameters = {{"tied", weight}},
                     .place = AttributePlace::kDict});
    torch.NewModule({.children = {{"shared", block}}});  // another model
    const RemoteAddr piece = objects.NewClass("app", "Piece");
    for (RemoteAddr type : {piece, torch.module_type()})
      torch.memory().Put(type + kTpCall, RemoteAddr{0x40'2000});
    const RemoteAddr held =
        objects.NewInstance(piece, {{"piecewise_compile_index", objects.Int(3)}});
    objects.NewInstance(piece, {{"runnable", held}, {"model", leaf}});
    end = objects.python().Allocate(0);
  }
  FakeTorch torch;
  RemoteAddr begin, end;
};

// `objects`: those of all trees so far.
void CheckTree(const ModuleTree& tree, std::set<RemoteAddr>& objects) {
  Require(!tree.modules.empty());
  for (const Module& module : tree.modules) {
    Require(objects.insert(module.object).second);
    Require(module.path.size() <= ModuleReader::kLongestPath + 16);
    for (const NamedTensor& parameter : module.parameters) {
      if (!parameter.tensor) continue;
      Require(parameter.tensor->dims.size() <= 64);
      for (int64_t dim : parameter.tensor->dims) Require(dim >= 0);
    }
  }
}

}  // namespace
}  // namespace sbump

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kLimitNs = 20'000'000;
  // What is read in any case may take its time, as on a machine that does something else.
  constexpr uint64_t kLongLimitNs = 10'000'000'000;
  if (size < 1 || size > 4096) return 0;
  sbump::Scene scene(8 + data[0] % 8, sbump::kPlaces[data[0] / 8 % 3]);
  sbump::Damage(scene.torch.memory(), scene.begin, scene.end, scene.torch.module_type(), data + 1,
                size - 1);
  const bool is_damaged = size >= 6;
  const double begin_s = sbump::ProcessorSeconds();
  // As of a process that is stopped: one reading, and no pauses.
  const auto forest =
      sbump::ReadModules(scene.torch.memory(), scene.torch.interpreter(),
                         {.callables = {*sbump::Glob::Compile("app.*")}, .stopped = true},
                         sbump::MonotonicNs() + (is_damaged ? kLimitNs : kLongLimitNs));
  sbump::Require(sbump::ProcessorSeconds() - begin_s < sbump::kMostProcessorSeconds);
  if (!forest.ok()) {
    sbump::Require(is_damaged);
    return 0;
  }
  std::set<sbump::RemoteAddr> objects;
  for (const sbump::ModuleTree& tree : forest->trees) sbump::CheckTree(tree, objects);
  return 0;
}
