#include "daemon/torch/read_modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "daemon/base/clock.h"
#include "tests/torch/fake_torch.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kSecondsNs = 20'000'000'000;

class ReadModulesTest : public testing::TestWithParam<int> {
 protected:
  FakeTorch torch{GetParam()};
  FakeObjects& objects = torch.objects();
  const RemoteAddr linear = torch.Class("torch.nn.modules.linear", "Linear");

  absl::StatusOr<ModuleForest> Read(const ModuleQuery& query = {}) {
    return ReadModules(torch.memory(), torch.interpreter(), query, MonotonicNs() + kSecondsNs);
  }
  static std::vector<std::string> PathsOf(const ModuleForest& forest) {
    std::vector<std::string> paths;
    for (const ModuleTree& tree : forest.trees)
      for (const Module& module : tree.modules) paths.push_back(module.path);
    return paths;
  }
  RemoteAddr Linear(int64_t in, int64_t out, RemoteAddr weight = {}) {
    if (!weight) weight = torch.NewTensor({.dims = {out, in}});
    return torch.NewModule({.type = linear,
                            .parameters = {{"weight", weight}, {"bias", objects.None()}},
                            .attributes = {{"in_features", objects.Int(in)},
                                           {"out_features", objects.Int(out)},
                                           {"_private", objects.Int(1)},
                                           {"callable", linear}}});
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, ReadModulesTest, testing::ValuesIn(kFakeMinors));

TEST_P(ReadModulesTest, PathsInTheOrderOfNamedModules) {
  const RemoteAddr shared = torch.NewModule({});
  const RemoteAddr block = torch.NewModule(
      {.children = {{"norm", shared}, {"absent", objects.None()}, {"again", shared}}});
  torch.NewModule({.children = {{"0", block}, {"tail", shared}}});
  const auto forest = Read();
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(PathsOf(*forest), ElementsAre("top", "top.0", "top.0.norm"));
  EXPECT_THAT(forest->trees[0].modules[2].aliases, ElementsAre("top.0.again", "top.tail"));
  EXPECT_THAT(forest->warnings, ElementsAre("one module has two names: top.0.norm and top.0.again",
                                            "one module has two names: top.0.norm and top.tail"));
  EXPECT_EQ(forest->readings, 2u);
}

TEST_P(ReadModulesTest, WhatAModuleSaysOfItself) {
  torch.NewModule({.children = {{"fc", Linear(5, 7)}}});
  const auto forest = Read();
  ASSERT_TRUE(forest.ok()) << forest.status();
  const Module& fc = forest->trees[0].modules[1];
  EXPECT_EQ(fc.type_name, "Linear");
  EXPECT_EQ(fc.full_type, "torch.nn.modules.linear.Linear");
  EXPECT_EQ(fc.training, true);
  ASSERT_EQ(fc.parameters.size(), 1u);  // its bias is None
  EXPECT_THAT(fc.parameters[0].tensor->dims, ElementsAre(7, 5));
  EXPECT_EQ(ReprOfDict(fc.static_params), "{'in_features': 5, 'out_features': 7}");
  EXPECT_EQ(ReprOfDict(fc.attributes), "{'in_features': 5, 'out_features': 7}");
}

TEST_P(ReadModulesTest, ModelsBySizeAndTiesAcrossThem) {
  const RemoteAddr weight = torch.NewTensor({.dims = {4, 4}});
  const RemoteAddr same = torch.NewTensor({.impl = torch.ImplOf(weight)});
  const RemoteAddr view = torch.NewTensor({.dims = {2}, .storage = torch.StorageOf(weight)});
  Linear(4, 4, weight);
  torch.NewModule({.children = {{"a", Linear(4, 4, same)}}, .parameters = {{"view", view}}});
  const auto forest = Read({.prefix = "m"});
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(PathsOf(*forest), ElementsAre("m", "m.a", "m#2"));
  ASSERT_EQ(forest->ties.size(), 2u);
  EXPECT_THAT(forest->ties[0].names, ElementsAre("m.a.weight", "m#2.weight"));
  EXPECT_TRUE(forest->ties[0].same_tensor);
  EXPECT_THAT(forest->ties[1].names, ElementsAre("m.view", "m.a.weight", "m#2.weight"));
  EXPECT_FALSE(forest->ties[1].same_tensor);
}

TEST_P(ReadModulesTest, AnotherTreeOfObjects) {
  const RemoteAddr stage = objects.NewClass("app", "Stage");
  objects.Import("app", {{"Stage", stage}});
  const RemoteAddr leaf = objects.NewInstance(stage, {});
  const RemoteAddr other = objects.NewInstance(stage, {});
  objects.NewInstance(stage, {{"first", leaf},
                              {"rest", objects.List({leaf, objects.Int(3), other})},
                              {"pair", objects.Tuple({other})},
                              {"by_name", objects.Dict({{"x", other}})}});
  const auto forest = Read({.root_type = "app.Stage"});
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(PathsOf(*forest), ElementsAre("top", "top.first", "top.rest.2"));
  EXPECT_THAT(forest->trees[0].modules[2].aliases, ElementsAre("top.pair.0", "top.by_name.x"));
}

TEST_P(ReadModulesTest, AModuleThatIsReachedInTwoWays) {
  const RemoteAddr model = torch.NewModule({.children = {{"fc", Linear(2, 2)}}});
  const RemoteAddr again = torch.NewModule({.children = {{"up", model}}});
  torch.NewModule({.children = {{"model", model}, {"again", again}}});
  const auto forest = Read();
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(PathsOf(*forest), ElementsAre("top", "top.model", "top.model.fc", "top.again"));
  EXPECT_THAT(forest->trees[0].modules[1].aliases, ElementsAre("top.again.up"));
}

TEST_P(ReadModulesTest, ChildrenOutsidePythonAreSaidToBeUnseen) {
  const RemoteAddr wrapper =
      objects.NewInstance(objects.NewClass("torch.jit._script", "OrderedModuleDict"), {});
  torch.NewModule({});
  objects.NewInstance(torch.module_type(), {{"_modules", wrapper}});
  const auto forest = Read();
  ASSERT_TRUE(forest.ok()) << forest.status();
  ASSERT_EQ(forest->trees.size(), 2u);
  EXPECT_THAT(forest->trees[0].modules[0].note + forest->trees[1].modules[0].note,
              HasSubstr("torch.jit._script.OrderedModuleDict"));
}

TEST_P(ReadModulesTest, RefusalsInWords) {
  EXPECT_TRUE(absl::IsFailedPrecondition(Read().status()));
  EXPECT_THAT(Read().status().message(),
              HasSubstr("has no instance of torch.nn.modules.module.Module"));
  EXPECT_TRUE(absl::IsNotFound(Read({.root_type = "app.Stage"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Read({.root_type = "Stage"}).status()));
  objects.Import("app", {{"number", objects.Int(3)}});
  EXPECT_TRUE(absl::IsInvalidArgument(Read({.root_type = "app.number"}).status()));
  torch.NewModule({.children = {{"fake", objects.Int(7)}}});
  EXPECT_THAT(Read().status().message(), HasSubstr("the child fake of a Module is no module"));
}

TEST_P(ReadModulesTest, KnownRootsAreTakenWhileTheyLive) {
  const RemoteAddr model = torch.NewModule({.children = {{"fc", Linear(2, 2)}}});
  torch.NewModule({});
  const auto forest = Read({.roots = {model}});
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(PathsOf(*forest), ElementsAre("top", "top.fc"));
  objects.Free(model);
  EXPECT_THAT(Read({.roots = {model}}).status().message(), HasSubstr("is gone"));
}

TEST_P(ReadModulesTest, ACollectionThatRunsIsWaitedForOrTold) {
  torch.NewModule({});
  torch.memory().Put(objects.python().CollectingFlag(), int32_t{1});
  EXPECT_TRUE(absl::IsAborted(Read().status()));
  EXPECT_TRUE(absl::IsUnavailable(Read({.stopped = true}).status()));
}

TEST_P(ReadModulesTest, ShapesThatCannotBeHadAreNotTold) {
  const RemoteAddr weight = torch.NewTensor({.dims = {7, 5}});
  torch.memory().Put(torch.ImplOf(weight) + kTorch113.sizes + 96, int64_t{34});
  Linear(5, 7, weight);
  const auto forest = Read();
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_FALSE(forest->trees[0].modules[0].parameters[0].tensor);
  EXPECT_THAT(forest->warnings, ElementsAre(HasSubstr("shapes of its tensors are not known")));
  EXPECT_THAT(forest->tensor_layout, IsEmpty());
}

// Runs `change` now and then: a process that goes on.
class ChangingMemory : public MemoryReader {
 public:
  ChangingMemory(const MemoryReader& source, std::function<void(uint64_t reads)> change)
      : source_(source), change_(std::move(change)) {}
  absl::Status Read(RemoteAddr addr, std::span<std::byte> out) const override {
    change_(++reads_);
    return source_.Read(addr, out);
  }

 private:
  const MemoryReader& source_;
  const std::function<void(uint64_t)> change_;
  mutable uint64_t reads_ = 0;
};

TEST_P(ReadModulesTest, AReadingCountsOnlyWhereTheNextAgrees) {
  const RemoteAddr number = objects.Int(1);
  torch.NewModule({.attributes = {{"step", number}}});
  int64_t step = 0;
  int changes_left = 3;
  // Between readings, by what they read first.
  const ChangingMemory changing(torch.memory(), [&](uint64_t) {
    if (changes_left > 0 && ++step % 3 == 0 && --changes_left >= 0)
      torch.memory().Put(number + 24, static_cast<uint32_t>(step));
  });
  const auto forest = ReadModules(changing, torch.interpreter(), {}, MonotonicNs() + kSecondsNs);
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_EQ(forest->trees[0].modules[0].attributes[0].second.integer, 9);
}

TEST_P(ReadModulesTest, OneThatNeverAgreesIsToldAsAMoment) {
  const RemoteAddr number = objects.Int(1);
  torch.NewModule({.attributes = {{"step", number}}});
  uint32_t step = 0;
  const ChangingMemory changing(torch.memory(),
                                [&](uint64_t) { torch.memory().Put(number + 24, ++step); });
  const auto forest = ReadModules(changing, torch.interpreter(), {}, MonotonicNs() + kSecondsNs);
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(forest->warnings, ElementsAre(HasSubstr("changed while they were read")));
  EXPECT_EQ(forest->readings, static_cast<uint64_t>(kMostReadings));
}

}  // namespace
}  // namespace sbump
