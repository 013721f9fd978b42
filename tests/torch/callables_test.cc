#include "daemon/torch/callables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/base/clock.h"
#include "daemon/torch/read_modules.h"
#include "tests/torch/fake_torch.h"

namespace sbump {
namespace {

using testing::ElementsAre;

constexpr uint64_t kSecondsNs = 20'000'000'000;
constexpr RemoteAddr kSlotTpCall{0x40'2000}, kOtherCall{0x40'3000};

class CallablesTest : public testing::TestWithParam<int> {
 protected:
  CallablesTest() { SetCall(torch.module_type(), kSlotTpCall); }

  FakeTorch torch{GetParam()};
  FakeObjects& objects = torch.objects();

  void SetCall(RemoteAddr type, RemoteAddr call) { torch.memory().Put(type + kTpCall, call); }
  RemoteAddr Class(std::string_view module, std::string_view name,
                   const std::vector<RemoteAddr>& bases = {}) {
    const RemoteAddr type = objects.NewClass(module, name, bases);
    SetCall(type, kSlotTpCall);
    return type;
  }
  absl::StatusOr<ModuleForest> Read(ModuleQuery query) {
    return ReadModules(torch.memory(), torch.interpreter(), query, MonotonicNs() + kSecondsNs);
  }
  absl::StatusOr<ModuleForest> ReadWith(std::initializer_list<std::string_view> globs) {
    ModuleQuery query;
    for (std::string_view glob : globs) query.callables.push_back(*Glob::Compile(glob));
    return Read(query);
  }
  static std::vector<std::string> PathsOf(const ModuleForest& forest) {
    std::vector<std::string> paths;
    for (const ModuleTree& tree : forest.trees)
      for (const Module& module : tree.modules) paths.push_back(module.path);
    return paths;
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, CallablesTest, testing::ValuesIn(kFakeMinors));

TEST_P(CallablesTest, ComeAfterAllModelsAndAreNone) {
  const RemoteAddr piece = Class("vllm.compilation", "PiecewiseBackend");
  objects.NewInstance(piece,
                      {{"piecewise_compile_index", objects.Int(3)}, {"ready", objects.Bool(true)}});
  torch.NewModule({});
  const auto forest = ReadWith({"vllm.*.PiecewiseBackend"});
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(PathsOf(*forest), ElementsAre("top", "callable:PiecewiseBackend:3"));
  EXPECT_EQ(forest->models(), 1u);
  EXPECT_EQ(forest->modules(), 2u);
  EXPECT_EQ(forest->callables(), 1u);
  const Module& module = forest->trees.back().modules.front();
  EXPECT_EQ(module.full_type, "vllm.compilation.PiecewiseBackend");
  EXPECT_EQ(module.call, kSlotTpCall);
  EXPECT_FALSE(module.training);
  EXPECT_EQ(ReprOfDict(module.attributes), "{'piecewise_compile_index': 3, 'ready': True}");
}

TEST_P(CallablesTest, ANameForEach) {
  const RemoteAddr piece = Class("a", "Piece"), wrapper = Class("a", "Wrapper");
  const auto indexed = [&](int64_t index) {
    return objects.NewInstance(piece, {{"piecewise_compile_index", objects.Int(index)}});
  };
  const RemoteAddr first = indexed(1);
  indexed(0);
  indexed(1);
  objects.NewInstance(wrapper, {});
  objects.NewInstance(wrapper, {{"x", objects.Int(1)}});
  objects.NewInstance(wrapper, {{"mode", objects.Int(2)}, {"runnable", first}});
  objects.NewInstance(piece, {{"piecewise_compile_index", objects.None()}});
  const auto forest = ReadWith({"Piece", "a.Wr*"});
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(
      PathsOf(*forest),
      ElementsAre("callable:Piece:1", "callable:Piece:0", "callable:Piece:1#2", "callable:Wrapper",
                  "callable:Wrapper#2", "callable:Wrapper:1", "callable:Piece"));
  EXPECT_EQ(forest->models(), 0u);
}

TEST_P(CallablesTest, OfTheseClassesAndNoOthers) {
  const RemoteAddr base = Class("a", "Base");
  const RemoteAddr derived = Class("a", "Derived", {base});
  const RemoteAddr in_c = Class("a", "InC", {base});
  SetCall(in_c, kOtherCall);
  const RemoteAddr without = Class("a", "Without", {base});
  SetCall(without, RemoteAddr());
  const RemoteAddr module = torch.Class("a", "Mine", {base});
  SetCall(module, kSlotTpCall);
  for (RemoteAddr type : {derived, in_c, without, Class("a", "Other")})
    objects.NewInstance(type, {});
  objects.Free(objects.NewInstance(base, {}));
  torch.NewModule({.type = module});
  const auto forest = ReadWith({"Base"});
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(PathsOf(*forest), ElementsAre("top", "callable:Derived"));
  EXPECT_THAT(PathsOf(*ReadWith({})), ElementsAre("top"));
}

TEST_P(CallablesTest, WithoutAnyThereIsNoTree) {
  objects.NewInstance(Class("a", "Piece"), {});
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadWith({"Other"}).status()));
  torch.NewModule({});
  EXPECT_EQ(ReadWith({"Other"})->trees.size(), 1u);
}

TEST_P(CallablesTest, KnownOnesAreTakenWhileTheyLive) {
  const RemoteAddr type = Class("a", "Piece");
  const RemoteAddr known = objects.NewInstance(type, {});
  objects.NewInstance(type, {});
  ModuleQuery query{.callables = {*Glob::Compile("Piece")}, .known_callables = {known}};
  EXPECT_THAT(PathsOf(*Read(query)), ElementsAre("callable:Piece"));
  objects.Free(known);
  EXPECT_TRUE(absl::IsAborted(Read(query).status()));
}

TEST_P(CallablesTest, MoreThanAreShown) {
  const RemoteAddr type = Class("a", "Piece");
  for (size_t i = 0; i <= kMostCallables; ++i) objects.NewInstance(type, {}, AttributePlace::kDict);
  const auto forest = ReadWith({"Piece"});
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_EQ(forest->callables(), kMostCallables);
  EXPECT_THAT(forest->warnings,
              ElementsAre("it has 10001 callables that are no modules; 10000 of them are shown"));
}

}  // namespace
}  // namespace sbump
