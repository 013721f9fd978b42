#include "daemon/torch/read_modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "daemon/base/clock.h"
#include "daemon/process/cached_reader.h"
#include "tests/torch/fake_torch.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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
  // A hole, so that what comes next is in another block of the cache, which is read page by page.
  void LeaveAGap() {
    const RemoteAddr gap = objects.python().Allocate(CachedReader::kBlockBytes);
    for (uint64_t at = FakeMemory::kPage; at < CachedReader::kBlockBytes; at += FakeMemory::kPage)
      torch.memory().Unmap(gap + static_cast<int64_t>(at));
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

TEST_P(ReadModulesTest, AParameterUnderTwoNamesOfOneModuleIsATie) {
  const RemoteAddr weight = torch.NewTensor({.dims = {4, 4}});
  torch.NewModule({.parameters = {{"weight", weight}, {"again", weight}}});
  const auto forest = Read();
  ASSERT_TRUE(forest.ok()) << forest.status();
  ASSERT_EQ(forest->ties.size(), 1u);
  EXPECT_THAT(forest->ties[0].names, ElementsAre("top.weight", "top.again"));
  EXPECT_TRUE(forest->ties[0].same_tensor);
}

// As app.tail = Sequential(model.encoder) leaves it.
TEST_P(ReadModulesTest, WhatTwoModelsHoldIsOfTheFirst) {
  const RemoteAddr fc = Linear(2, 2);
  const RemoteAddr encoder = torch.NewModule({.children = {{"fc", fc}}});
  torch.NewModule({.children = {{"enc", encoder}, {"a", Linear(2, 2)}, {"b", Linear(2, 2)}}});
  torch.NewModule(
      {.children = {{"fc", fc}, {"0", encoder}, {"1", encoder}, {"own", Linear(2, 2)}}});
  const auto forest = Read();
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(PathsOf(*forest),
              ElementsAre("top", "top.enc", "top.enc.fc", "top.a", "top.b", "top#2", "top#2.own"));
  const std::vector<Module>& first = forest->trees[0].modules;
  EXPECT_THAT(first[1].aliases, ElementsAre("top#2.0", "top#2.1"));
  EXPECT_THAT(first[2].aliases, ElementsAre("top#2.fc")) << "not top#2.0.fc: its parent is told";
  EXPECT_THAT(forest->warnings, ElementsAre("one module has two names: top.enc and top#2.0",
                                            "one module has two names: top.enc and top#2.1",
                                            "one module has two names: top.enc.fc and top#2.fc"));
}

// As a known root that another model has taken in since.
TEST_P(ReadModulesTest, AModelOfWhichNothingIsItsOwnIsNone) {
  const RemoteAddr encoder = torch.NewModule({.children = {{"fc", Linear(2, 2)}}});
  const RemoteAddr model = torch.NewModule({.children = {{"enc", encoder}}});
  const RemoteAddr other = torch.NewModule({});
  const auto forest = Read({.roots = {encoder, model, other}});
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(RootsOf(forest->trees), ElementsAre(model, other));
  EXPECT_THAT(PathsOf(*forest), ElementsAre("top", "top.enc", "top.enc.fc", "top#2"));
  EXPECT_THAT(forest->warnings, IsEmpty());
}

TEST_P(ReadModulesTest, ShapesOfAModelThatHasBuffersAlone) {
  torch.NewModule({.buffers = {{"table", torch.NewTensor({.dims = {7, 5}})}}});
  const auto forest = Read();
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(forest->trees[0].modules[0].buffers[0].tensor->dims, ElementsAre(7, 5));
  EXPECT_THAT(forest->tensor_types, Not(IsEmpty()));
  EXPECT_THAT(forest->warnings, IsEmpty());
}

TEST_P(ReadModulesTest, NumbersAloneTellNoShapesAndMakeNoDoubts) {
  torch.NewModule({.buffers = {{"steps", torch.NewTensor({.dims = {}})}}});
  const auto forest = Read();
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_EQ(forest->readings, 2u);
  EXPECT_THAT(forest->warnings, ElementsAre(HasSubstr("shapes of its tensors are not known")));
}

TEST_P(ReadModulesTest, WhatElseOfTensorsIsNotKnownIsSaid) {
  torch.NewModule({.parameters = {{"odd", torch.NewTensor({.dims = {7, 5}, .dtype = 999})}}});
  const auto forest = Read();
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(forest->warnings, ElementsAre(HasSubstr("lie in one storage is not known")));
}

TEST_P(ReadModulesTest, ModelsThatWereNamedKeepTheirPlaces) {
  const RemoteAddr copy = Linear(4, 4);  // has the lower address
  const RemoteAddr first = Linear(4, 4);
  const RemoteAddr gone = copy + 8;
  const RemoteAddr larger = torch.NewModule({.children = {{"a", Linear(4, 4)}}});
  const auto roots = [this](std::vector<RemoteAddr> named) {
    const auto forest = Read({.named_roots = std::move(named)});
    return forest.ok() ? RootsOf(forest->trees) : std::vector<RemoteAddr>();
  };
  EXPECT_THAT(roots({}), ElementsAre(larger, copy, first));
  EXPECT_THAT(roots({first}), ElementsAre(first, larger, copy));
  EXPECT_THAT(roots({gone, first, copy}), ElementsAre(first, copy, larger));
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

TEST_P(ReadModulesTest, ATreeWithoutTensorsMayBeCalledWithSome) {
  const RemoteAddr thing = objects.NewClass("app", "Thing");
  objects.Import("app", {{"Thing", thing}});
  objects.NewInstance(thing, {});
  EXPECT_FALSE(Read({.root_type = "app.Thing"})->tensors);
  torch.NewTensor({.dims = {7, 5}});
  const auto forest = Read({.root_type = "app.Thing"});
  ASSERT_TRUE(forest.ok()) << forest.status();
  ASSERT_TRUE(forest->tensors);
  EXPECT_EQ(forest->tensors->sizes, kTorch113.sizes);
  EXPECT_EQ(forest->tensors->storage, -1);
  EXPECT_THAT(forest->warnings, IsEmpty());
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
  torch.NewModule({.type = linear});
  uint64_t step = 0;
  int changes_left = 3;
  // Between readings, by what they read first.
  const ChangingMemory changing(torch.memory(), [&](uint64_t) {
    if (changes_left > 0 && ++step % 3 == 0 && --changes_left >= 0)
      torch.memory().Put(linear + kTpCall, step);
  });
  const auto forest = ReadModules(changing, torch.interpreter(), {}, MonotonicNs() + kSecondsNs);
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_EQ(forest->trees[0].modules[0].call.value, 9u);
}

TEST_P(ReadModulesTest, OneThatNeverAgreesIsToldAsAMoment) {
  torch.NewModule({.type = linear});
  uint64_t step = 0;
  const ChangingMemory changing(torch.memory(),
                                [&](uint64_t) { torch.memory().Put(linear + kTpCall, ++step); });
  const auto forest = ReadModules(changing, torch.interpreter(), {}, MonotonicNs() + kSecondsNs);
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(forest->warnings, ElementsAre(HasSubstr("changed while they were read")));
  EXPECT_TRUE(forest->has_changed);
  EXPECT_EQ(forest->readings, static_cast<uint64_t>(kMostReadings));
}

TEST_P(ReadModulesTest, ACountOfCallsIsLeftOutAndTheRestIsTold) {
  const RemoteAddr number = objects.Int(1);
  torch.NewModule(
      {.type = linear,
       .attributes = {
           {"calls", number}, {"in_features", objects.Int(4)}, {"out_features", number}}});
  uint32_t step = 0;
  const ChangingMemory changing(torch.memory(),
                                [&](uint64_t) { torch.memory().Put(number + 24, ++step); });
  const auto forest = ReadModules(changing, torch.interpreter(), {}, MonotonicNs() + kSecondsNs);
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_FALSE(forest->has_changed);
  EXPECT_EQ(forest->readings, 3u);
  EXPECT_THAT(forest->warnings,
              ElementsAre("settings that changed while they were read are left out"));
  const NamedValues kept = {{"in_features", IntValue(4)}};
  EXPECT_EQ(forest->trees[0].modules[0].attributes, kept);
  EXPECT_EQ(forest->trees[0].modules[0].static_params, kept);
}

TEST_P(ReadModulesTest, ASettingThatChangesOnceIsReadAgain) {
  const RemoteAddr number = objects.Int(1);
  torch.NewModule({.attributes = {{"step", number}}});
  const ChangingMemory changing(torch.memory(), [&](uint64_t reads) {
    if (reads == 3) torch.memory().Put(number + 24, uint32_t{9});
  });
  const auto forest = ReadModules(changing, torch.interpreter(), {}, MonotonicNs() + kSecondsNs);
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(forest->warnings, IsEmpty());
  EXPECT_EQ(forest->trees[0].modules[0].attributes[0].second, IntValue(9));
}

TEST_P(ReadModulesTest, ASettingThatIsNoNumberIsTheSameAgain) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  torch.NewModule({.attributes = {{"clip", objects.Float(nan)}}});
  const auto forest = Read();
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_EQ(forest->readings, 2u);
}

TEST_P(ReadModulesTest, OfAStoppedProcessOneReadingIsEnough) {
  const RemoteAddr number = objects.Int(1);
  torch.NewModule({.attributes = {{"step", number}}});
  uint32_t step = 0;
  const ChangingMemory changing(torch.memory(),
                                [&](uint64_t) { torch.memory().Put(number + 24, ++step); });
  const auto forest =
      ReadModules(changing, torch.interpreter(), {.stopped = true}, MonotonicNs() + kSecondsNs);
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_EQ(forest->readings, 1u);
  EXPECT_THAT(forest->warnings, IsEmpty());
}

// ---- While a collection runs ----

class CollectingTest : public ReadModulesTest {
 protected:
  void SetCollecting(bool on) {
    torch.memory().Put(objects.python().CollectingFlag(), int32_t{on});
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, CollectingTest, testing::ValuesIn({8, 13}));

TEST_P(CollectingTest, OneWithoutAnEndIsTold) {
  torch.NewModule({});
  SetCollecting(true);
  const auto forest =
      ReadModules(torch.memory(), torch.interpreter(), {}, MonotonicNs() + 600'000'000);
  EXPECT_TRUE(absl::IsAborted(forest.status())) << forest.status();
  EXPECT_THAT(forest.status().message(), HasSubstr("a garbage collection is running"));
  EXPECT_TRUE(absl::IsUnavailable(Read({.stopped = true}).status()));
}

TEST_P(CollectingTest, ALongOneIsWaitedFor) {
  torch.NewModule({});
  SetCollecting(true);
  const uint64_t end_ns =
      MonotonicNs() + 300'000'000;  // longer than all readings with their pauses
  const ChangingMemory changing(torch.memory(),
                                [&](uint64_t) { SetCollecting(MonotonicNs() < end_ns); });
  const auto forest = ReadModules(changing, torch.interpreter(), {}, MonotonicNs() + kSecondsNs);
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_EQ(forest->readings, 2u);
}

TEST_P(CollectingTest, WhatIsKnownIsReadAgainWithoutTheLists) {
  torch.NewModule({.children = {{"fc", Linear(2, 2)}}});
  uint64_t all_reads = 0;
  const ChangingMemory counted(torch.memory(), [&](uint64_t reads) { all_reads = reads; });
  const auto idle = ReadModules(counted, torch.interpreter(), {}, MonotonicNs() + kSecondsNs);
  ASSERT_TRUE(idle.ok()) << idle.status();
  ASSERT_EQ(idle->readings, 2u);
  const ChangingMemory changing(torch.memory(),
                                [&](uint64_t reads) { SetCollecting(reads > all_reads / 2); });
  const auto forest = ReadModules(changing, torch.interpreter(), {}, MonotonicNs() + kSecondsNs);
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_EQ(PathsOf(*forest), PathsOf(*idle));
  EXPECT_EQ(forest->readings, 2u);
}

TEST_P(ReadModulesTest, AModelThatTakesTooLong) {
  torch.NewModule({});
  for (const bool stopped : {false, true}) {
    const auto forest = ReadModules(torch.memory(), torch.interpreter(), {.stopped = stopped}, 1);
    EXPECT_TRUE(absl::IsDeadlineExceeded(forest.status())) << forest.status();
  }
}

// All of it is remembered from the first look on: no read says that the time is over.
TEST_P(ReadModulesTest, FewBytesThatLeadRoundAndRound) {
  const RemoteAddr stage = objects.NewClass("app", "Stage");
  objects.Import("app", {{"Stage", stage}});
  const RemoteAddr many =
      objects.List(std::vector<RemoteAddr>(ModuleReader::kMostChildren, objects.Int(1)));
  FakeObjects::Attributes attributes;
  for (int i = 0; i < 1000; ++i) attributes.emplace_back("x" + std::to_string(i), many);
  const RemoteAddr shared = objects.Dict(attributes);
  const auto& managed = objects.layout().managed_dict;
  for (int i = 0; i < 2000; ++i) {
    const RemoteAddr one = objects.NewInstance(stage, {}, AttributePlace::kDict);
    torch.memory().Put(one + (managed.dict == kAbsent ? 16 : managed.dict), shared);
  }
  const uint64_t begin_ns = MonotonicNs();
  const auto forest = ReadModules(torch.memory(), torch.interpreter(), {.root_type = "app.Stage"},
                                  begin_ns + 200'000'000);
  EXPECT_TRUE(absl::IsDeadlineExceeded(forest.status())) << forest.status();
  EXPECT_LT(MonotonicNs() - begin_ns, 10 * kSecondsNs);
}

// Wherever the time runs out, half a model is no model. The clock is read at every 32nd read only.
TEST_P(ReadModulesTest, TimeThatRunsOutInTheMiddleOfAStop) {
  FakeObjects::Attributes parameters, attributes;
  std::vector<RemoteAddr> impls;
  for (int i = 0; i < 6; ++i) {
    LeaveAGap();
    attributes.emplace_back("depth" + std::to_string(i), objects.Int(i));
    impls.push_back(torch.ImplOf(torch.NewTensor({.dims = {7, 5}})));
  }
  for (const RemoteAddr impl : impls)
    parameters.emplace_back("weight", torch.NewTensor({.impl = impl}));
  torch.NewModule({.parameters = parameters, .attributes = attributes});
  const auto whole = Read({.stopped = true});
  ASSERT_TRUE(whole.ok()) << whole.status();
  uint64_t reads = 0;
  const ChangingMemory counted(torch.memory(), [&](uint64_t count) { reads = count; });
  ASSERT_TRUE(ReadModules(counted, torch.interpreter(), {.stopped = true}, UINT64_MAX).ok());
  for (uint64_t slow = 1; slow < reads; slow += 16) {
    const uint64_t deadline_ns = MonotonicNs() + 3'000'000;
    const ChangingMemory waits(torch.memory(), [&](uint64_t count) {
      while (count == slow && MonotonicNs() < deadline_ns) {
      }
    });
    const auto forest = ReadModules(waits, torch.interpreter(), {.stopped = true}, deadline_ns);
    if (forest.ok()) {
      EXPECT_TRUE(forest->trees == whole->trees)
          << "at read " << slow << " of " << reads << ", with "
          << forest->trees[0].modules[0].attributes.size() << " of 6 attributes";
    } else {
      EXPECT_TRUE(absl::IsDeadlineExceeded(forest.status())) << forest.status();
    }
  }
}

TEST_P(ReadModulesTest, AProcessWithoutTorch) {
  FakeObjects plain(GetParam());
  const absl::Status status =
      ReadModules(plain.memory(), plain.interpreter(), {}, MonotonicNs() + kSecondsNs).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("has not imported torch"));
}

TEST_P(ReadModulesTest, TorchInTwoSubinterpreters) {
  torch.NewModule({});
  FakePython& python = objects.python();
  python.SetModules(
      python.AddInterpreter(),
      python.NewDict(
          {{objects.Str("torch.nn.modules.module"),
            python.NewModule({{objects.Str("Module"), objects.NewClass("torch", "Module")}})}}));
  EXPECT_TRUE(absl::IsUnimplemented(Read().status()));
}

TEST_P(ReadModulesTest, WithoutAPrefixPathsBeginAtTheChildren) {
  const RemoteAddr shared = torch.NewModule({});
  torch.NewModule({.children = {{"a", shared}, {"b", shared}}});
  torch.NewModule({});
  const auto forest = Read({.prefix = ""});
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(PathsOf(*forest), ElementsAre("", "a", "#2"));
  EXPECT_THAT(forest->trees[0].modules[1].aliases, ElementsAre("b"));
  EXPECT_EQ(forest->modules(), 3u);
}

TEST_P(ReadModulesTest, ATensorUnlikeTheOthersIsNotTold) {
  torch.NewModule({.parameters = {{"weight", torch.NewTensor({.dims = {7, 5}})}},
                   .buffers = {{"good", torch.NewTensor({.dims = {3}})},
                               {"bad", torch.NewTensor({.impl = RemoteAddr{16}})}}});
  const auto forest = Read();
  ASSERT_TRUE(forest.ok()) << forest.status();
  const Module& module = forest->trees[0].modules[0];
  EXPECT_TRUE(module.parameters[0].tensor);
  EXPECT_THAT(module.buffers[0].tensor->dims, ElementsAre(3));
  EXPECT_FALSE(module.buffers[1].tensor);
  EXPECT_THAT(forest->warnings, ElementsAre(HasSubstr("1 tensors are not laid out")));
  EXPECT_GT(forest->readings, 2u) << "it may have been changing";
}

// torch gives a Linear that is sharded, or not made yet, a weight of other dims.
TEST_P(ReadModulesTest, OfADerivedClassTheWeightNeedNotBeAsItsFeaturesSay) {
  const RemoteAddr sharded = torch.Class("app", "ShardedLinear", {linear});
  torch.NewModule(
      {.type = sharded,
       .parameters = {{"weight", torch.NewTensor({.dims = {2, 5}})}},
       .attributes = {{"in_features", objects.Int(5)}, {"out_features", objects.Int(4)}}});
  const auto forest = Read();
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_THAT(forest->trees[0].modules[0].parameters[0].tensor->dims, ElementsAre(2, 5));
  EXPECT_THAT(forest->warnings, IsEmpty());
}

TEST_P(ReadModulesTest, AFreeThreadedBuildIsRefused) {
  torch.NewModule({});
  Interpreter interpreter = torch.interpreter();
  interpreter.own_layout.free_threaded = true;
  EXPECT_TRUE(absl::IsUnimplemented(
      ReadModules(torch.memory(), interpreter, {}, MonotonicNs() + kSecondsNs).status()));
}

TEST_P(ReadModulesTest, AChildThatKnowsItsParentIsAnInstanceAllTheSame) {
  const RemoteAddr stage = objects.NewClass("app", "Stage");
  objects.Import("app", {{"Stage", stage}});
  const RemoteAddr up = objects.List({objects.None()});
  const RemoteAddr child = objects.NewInstance(stage, {{"up", up}});
  const RemoteAddr parent = objects.NewInstance(stage, {{"child", child}});
  torch.memory().Put(*torch.memory().ReadPointer(up + 24), parent);
  EXPECT_THAT(std::string(Read({.root_type = "app.Stage"}).status().message()),
              Not(HasSubstr("has no instance")));
  objects.NewInstance(stage, {});
  const auto forest = Read({.root_type = "app.Stage"});
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_EQ(forest->modules(), 1u);
  EXPECT_THAT(forest->warnings, ElementsAre(HasSubstr("2 instances are not shown")));
}

TEST_P(ReadModulesTest, WhereCallsOfModulesBegin) {
  torch.memory().Put(torch.module_type() + kTpCall, RemoteAddr{0x40'2000});
  const auto find = [&](const ModuleQuery& query) {
    return FindModuleCall(torch.memory(), torch.interpreter(), query);
  };
  EXPECT_EQ(*find({}), RemoteAddr{0x40'2000});
  EXPECT_TRUE(absl::IsNotFound(find({.root_type = "app.Stage"}).status()));
}

TEST(ReadModulesLimitsTest, MoreModelsThanAreShown) {
  FakeTorch torch(13);
  for (int i = 0; i < 1003; ++i)
    torch.objects().NewInstance(torch.module_type(), {{"training", torch.objects().Bool(false)}});
  // Behind all of them in memory.
  torch.NewModule({.children = {{"child", torch.NewModule({})}}});
  const auto forest =
      ReadModules(torch.memory(), torch.interpreter(), {}, MonotonicNs() + kSecondsNs);
  ASSERT_TRUE(forest.ok()) << forest.status();
  EXPECT_EQ(forest->trees.size(), 1000u);
  EXPECT_EQ(forest->trees[0].modules.size(), 2u) << "the model is not left out for stray modules";
  EXPECT_EQ(forest->trees[999].modules[0].path, "top#1000");
  EXPECT_THAT(forest->warnings,
              ElementsAre(HasSubstr("1004 modules are held by no other; the largest 1000")));
}

}  // namespace
}  // namespace sbump
