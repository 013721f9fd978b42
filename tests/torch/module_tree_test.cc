#include "daemon/torch/module_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/torch/fake_torch.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ModuleTreeTest : public testing::TestWithParam<int> {
 protected:
  FakeTorch torch{GetParam()};
  FakeObjects& objects = torch.objects();
  FakeMemory& memory = torch.memory();
  Types types{memory, torch.interpreter()};
  const ValueReader values = *ValueReader::Make(memory, torch.interpreter(), types);
  ModuleReader reader{memory, torch.interpreter(), types, values, torch.module_type()};

  static std::vector<std::string> PathsOf(const ModuleTree& tree) {
    std::vector<std::string> paths;
    for (const Module& module : tree.modules) paths.push_back(module.path);
    return paths;
  }
  std::vector<std::string> Paths(RemoteAddr root, const std::string& prefix = "top") {
    const auto tree = reader.ReadTree(root, prefix);
    EXPECT_TRUE(tree.ok()) << tree.status();
    return tree.ok() ? PathsOf(*tree) : std::vector<std::string>();
  }
  Module Root(RemoteAddr root) { return reader.ReadTree(root, "top")->modules.front(); }
  // A module whose only child is set later.
  RemoteAddr NewHolder(RemoteAddr* children) {
    *children = objects.Dict({{"held", objects.None()}});
    return objects.NewInstance(torch.module_type(), {{"_modules", *children}});
  }
  void SetHeld(RemoteAddr children, RemoteAddr value) {
    const DictEntries entries =
        *FindDictEntries(memory, objects.layout(), torch.interpreter().dict_type, children);
    memory.Put(entries.first + (entries.entry_size - 8), value);
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, ModuleTreeTest, testing::ValuesIn(kFakeMinors));

TEST_P(ModuleTreeTest, ParentsBeforeChildrenInTheirOrder) {
  const RemoteAddr b = torch.NewModule({.children = {{"z", torch.NewModule({})}}});
  const RemoteAddr root = torch.NewModule({.children = {{"b", b},
                                                        {"none", objects.None()},
                                                        {"a", torch.NewModule({})},
                                                        {"10", torch.NewModule({})},
                                                        {"2", torch.NewModule({})}}});
  EXPECT_THAT(Paths(root), ElementsAre("top", "top.b", "top.b.z", "top.a", "top.10", "top.2"));
  EXPECT_THAT(Paths(root, ""), ElementsAre("", "b", "b.z", "a", "10", "2"));
}

// As named_modules(): the path of the first to come, however deep it is.
TEST_P(ModuleTreeTest, TheFirstPathIsAModulesName) {
  const RemoteAddr shared = torch.NewModule({.children = {{"in", torch.NewModule({})}}});
  const RemoteAddr deep = torch.NewModule({.children = {{"x", shared}}});
  const RemoteAddr root =
      torch.NewModule({.children = {{"deep", deep}, {"y", shared}, {"z", shared}}});
  const ModuleTree tree = *reader.ReadTree(root, "top");
  EXPECT_THAT(PathsOf(tree), ElementsAre("top", "top.deep", "top.deep.x", "top.deep.x.in"));
  EXPECT_THAT(tree.modules[2].aliases, ElementsAre("top.y", "top.z"));
  EXPECT_THAT(tree.modules[3].aliases, IsEmpty());
}

TEST_P(ModuleTreeTest, ACircleEnds) {
  RemoteAddr children;
  const RemoteAddr inner = NewHolder(&children);
  const RemoteAddr root = torch.NewModule({.children = {{"inner", inner}}});
  SetHeld(children, root);
  const ModuleTree tree = *reader.ReadTree(root, "top");
  EXPECT_THAT(PathsOf(tree), ElementsAre("top", "top.inner"));
  EXPECT_THAT(tree.modules[0].aliases, ElementsAre("top.inner.held"));
  SetHeld(children, inner);
  EXPECT_THAT(Root(inner).aliases, ElementsAre("top.held"));
}

TEST_P(ModuleTreeTest, AChildThatIsNoModule) {
  RemoteAddr children;
  const RemoteAddr root = NewHolder(&children);
  for (const RemoteAddr child : {objects.Int(3), torch.module_type(), RemoteAddr{16}}) {
    SetHeld(children, child);
    const absl::Status status = reader.ReadTree(root, "top").status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << ToString(child);
    EXPECT_THAT(std::string(status.message()), HasSubstr("the child held of a Module"));
  }
}

TEST_P(ModuleTreeTest, ChildrenOutsidePythonAreNotedAndTheRestIsRead) {
  const RemoteAddr wrapper =
      objects.NewInstance(objects.NewClass("torch.jit._script", "OrderedModuleDict"), {});
  const RemoteAddr script = objects.NewInstance(
      torch.module_type(), {{"_modules", wrapper}, {"training", objects.Bool(false)}});
  const RemoteAddr root =
      torch.NewModule({.children = {{"script", script}, {"next", torch.NewModule({})}}});
  const ModuleTree tree = *reader.ReadTree(root, "top");
  EXPECT_THAT(PathsOf(tree), ElementsAre("top", "top.script", "top.next"));
  EXPECT_THAT(tree.modules[1].note, HasSubstr("torch.jit._script.OrderedModuleDict"));
  EXPECT_EQ(tree.modules[1].training, false);
  EXPECT_EQ(tree.modules[2].note, "");
  EXPECT_TRUE(absl::IsUnimplemented(reader.Children(script).status()));
}

TEST_P(ModuleTreeTest, TheTypeAndWhatItIsDerivedFrom) {
  const RemoteAddr linear = torch.Class("torch.nn.modules.linear", "Linear");
  const RemoteAddr mine = torch.Class("app", "Outer.Mine", {linear});
  memory.Put(mine + kTpCall, RemoteAddr{0x40'2000});
  const RemoteAddr root = torch.NewModule({.type = mine});
  const Module module = Root(root);
  EXPECT_EQ(module.object, root);
  EXPECT_EQ(module.type, mine);
  EXPECT_EQ(module.call, RemoteAddr{0x40'2000});
  EXPECT_EQ(module.type_name, "Mine");
  EXPECT_EQ(module.full_type, "app.Outer.Mine");
  EXPECT_THAT(module.base_types, ElementsAre("app.Outer.Mine", "torch.nn.modules.linear.Linear",
                                             "torch.nn.modules.module.Module"));
}

TEST_P(ModuleTreeTest, PlainAttributesThatAreNotPrivate) {
  const Module module = Root(
      torch.NewModule({.attributes = {{"eps", objects.Float(1e-5)},
                                      {"_hidden", objects.Int(1)},
                                      {"size", objects.Tuple({objects.Int(3), objects.Int(5)})},
                                      {"forward", torch.module_type()},
                                      {"name", objects.Str("attn")}}}));
  EXPECT_EQ(ReprOfDict(module.attributes), "{'eps': 1e-05, 'size': (3, 5), 'name': 'attn'}");
  EXPECT_EQ(module.training, true);
}

TEST_P(ModuleTreeTest, TrainingIsAnAttributeWhereItIsNoBool) {
  const Module module = Root(objects.NewInstance(
      torch.module_type(), {{"_modules", objects.Dict({})}, {"training", objects.Str("always")}}));
  EXPECT_FALSE(module.training);
  EXPECT_EQ(ReprOfDict(module.attributes), "{'training': 'always'}");
}

TEST_P(ModuleTreeTest, ParametersAndBuffersOfItsOwn) {
  const RemoteAddr weight = torch.NewTensor({.dims = {4, 3}}),
                   mask = torch.NewTensor({.dims = {2}});
  const RemoteAddr root = torch.NewModule({.children = {{"fc", torch.NewModule({})}},
                                           .parameters = {{"weight", weight},
                                                          {"bias", objects.None()},
                                                          {"again", weight},
                                                          {"odd", objects.Int(3)}},
                                           .buffers = {{"mask", mask}}});
  const Module module = Root(root);
  ASSERT_EQ(module.parameters.size(), 1u);
  EXPECT_EQ(module.parameters[0].name, "weight");
  EXPECT_EQ(module.parameters[0].object, weight);
  EXPECT_THAT(module.parameters[0].aliases, ElementsAre("again"));
  EXPECT_FALSE(module.parameters[0].tensor) << "not looked at yet";
  ASSERT_EQ(module.buffers.size(), 1u);
  EXPECT_EQ(module.buffers[0].object, mask);
}

TEST_P(ModuleTreeTest, AModuleWithoutParameters) {
  EXPECT_THAT(Root(objects.NewInstance(torch.module_type(), {})).parameters, IsEmpty());
  EXPECT_THAT(
      Root(objects.NewInstance(torch.module_type(), {{"_parameters", objects.None()}})).parameters,
      IsEmpty());
}

TEST_P(ModuleTreeTest, ARootThatWasFreed) {
  const RemoteAddr root = torch.NewModule({});
  objects.Free(root);
  EXPECT_THAT(std::string(reader.ReadTree(root, "top").status().message()), HasSubstr("is gone"));
  EXPECT_TRUE(absl::IsDataLoss(reader.ReadTree(RemoteAddr{}, "top").status()));
}

TEST_P(ModuleTreeTest, WhatMakesAModule) {
  const RemoteAddr derived = torch.Class("app", "Mine");
  const RemoteAddr other = objects.NewClass("app", "Other");
  const RemoteAddr module = torch.NewModule({}), mine = torch.NewModule({.type = derived});
  EXPECT_TRUE(reader.IsLiveModule(module, torch.module_type()));
  EXPECT_TRUE(reader.IsLiveModule(mine, derived));
  EXPECT_FALSE(reader.IsLiveModule(mine, torch.module_type()));
  EXPECT_FALSE(reader.IsLiveModule(objects.NewInstance(other, {}), other));
  EXPECT_FALSE(reader.IsLiveModule(module, RemoteAddr{16}));
  EXPECT_TRUE(reader.IsModule(torch.NewModule({.type = derived})));
  EXPECT_FALSE(reader.IsModule(objects.NewInstance(other, {})));
  EXPECT_FALSE(reader.IsModule(derived));
}

TEST_P(ModuleTreeTest, EachPlaceOfAnInstancesAttributes) {
  for (const AttributePlace place : {AttributePlace::kDict, AttributePlace::kSplitDict}) {
    const RemoteAddr root =
        torch.NewModule({.children = {{"fc", torch.NewModule({})}}, .place = place});
    EXPECT_THAT(Paths(root), ElementsAre("top", "top.fc"));
  }
  // A class has the keys of its instances' values once: of the one that is made last here.
  const RemoteAddr type = torch.Class("app", "Mine");
  const RemoteAddr root = torch.NewModule(
      {.type = type, .children = {{"fc", torch.NewModule({})}}, .place = AttributePlace::kValues});
  EXPECT_THAT(Paths(root), ElementsAre("top", "top.fc"));
}

// ---- Trees of other classes ----

class OtherTreeTest : public ModuleTreeTest {
 protected:
  const RemoteAddr stage = objects.NewClass("app", "Stage");
  ModuleReader stages{memory, torch.interpreter(), types, values, stage};

  RemoteAddr NewStage(const FakeObjects::Attributes& attributes = {}) {
    return objects.NewInstance(stage, attributes);
  }
  std::vector<std::string> Paths(RemoteAddr root) { return PathsOf(*stages.ReadTree(root, "top")); }
};
INSTANTIATE_TEST_SUITE_P(Versions, OtherTreeTest, testing::ValuesIn(kFakeMinors));

TEST_P(OtherTreeTest, AttributesAndTheItemsOfContainers) {
  const RemoteAddr root = NewStage(
      {{"own", NewStage()},
       {"count", objects.Int(3)},
       {"list", objects.List({NewStage(), objects.Int(3), NewStage()})},
       {"tuple", objects.Tuple({NewStage()})},
       {"dict", objects.Dict({{"x", NewStage()}, {"n", objects.None()}, {"y", NewStage()}})}});
  EXPECT_THAT(Paths(root), ElementsAre("top", "top.own", "top.list.0", "top.list.2", "top.tuple.0",
                                       "top.dict.x", "top.dict.y"));
}

TEST_P(OtherTreeTest, PrivateOnesAreChildrenToo) {
  EXPECT_THAT(Paths(NewStage({{"_first", NewStage()}})), ElementsAre("top", "top._first"));
}

TEST_P(OtherTreeTest, SubclassesOfContainersAndOfTheRoot) {
  const RemoteAddr list = objects.List({});
  const RemoteAddr list_type = *memory.ReadPointer(list + kObType);
  const RemoteAddr stages_type = objects.NewClass("app", "Stages", {list_type}, kTypeIsList);
  const RemoteAddr special = objects.NewClass("app", "Special", {stage});
  const RemoteAddr all = objects.List({objects.NewInstance(special, {})});
  memory.Put(all + kObType, stages_type);
  EXPECT_THAT(Paths(NewStage({{"all", all}})), ElementsAre("top", "top.all.0"));
}

TEST_P(OtherTreeTest, WhatIsDeeperIsNotLookedAt) {
  const RemoteAddr other =
      objects.NewInstance(objects.NewClass("app", "Other"), {{"stage", NewStage()}});
  const RemoteAddr root =
      NewStage({{"nested", objects.List({objects.List({NewStage()})})}, {"other", other}});
  EXPECT_THAT(Paths(root), ElementsAre("top"));
}

TEST_P(OtherTreeTest, BrokenContainersHoldNone) {
  const RemoteAddr list = objects.List({NewStage()}), dict = objects.Dict({{"x", NewStage()}});
  memory.Put(list + kVarSize, int64_t{-1});
  memory.Put(dict + kDictUsed, int64_t{5});
  const RemoteAddr root =
      NewStage({{"list", list}, {"dict", dict}, {"dead", RemoteAddr{16}}, {"own", NewStage()}});
  EXPECT_THAT(Paths(root), ElementsAre("top", "top.own"));
}

TEST_P(OtherTreeTest, OneWithModulesOfItsOwnHasTheseAlone) {
  const RemoteAddr root =
      NewStage({{"own", NewStage()}, {"_modules", objects.Dict({{"x", NewStage()}})}});
  EXPECT_THAT(Paths(root), ElementsAre("top", "top.x"));
}

// ---- Limits ----

TEST_P(OtherTreeTest, APathThatIsTooLong) {
  const auto chain = [&](size_t length) {
    RemoteAddr root = NewStage();
    for (size_t left = length; left > 0; left -= 256)
      root = NewStage({{std::string(255, 'a'), root}});
    return stages.ReadTree(root, "").status();
  };
  const size_t most = ModuleReader::kLongestPath;
  EXPECT_TRUE(chain(most).ok()) << "16 names and 15 dots";
  EXPECT_TRUE(absl::IsResourceExhausted(chain(most + 256)));
}

TEST_P(OtherTreeTest, ItemsOfADictGoByTheirKeys) {
  const RemoteAddr stages_of = objects.python().NewDict(
      {{objects.Int(0), NewStage()}, {objects.Str("a"), NewStage()}, {NewStage(), NewStage()}});
  EXPECT_THAT(Paths(NewStage({{"all", stages_of}})), ElementsAre("top", "top.all.0", "top.all.a"));
}

TEST_P(OtherTreeTest, OneWithTooManyChildren) {
  const RemoteAddr child = NewStage();
  const FakePython::Items all(ModuleReader::kMostChildren + 1, {objects.Str("x"), child});
  const RemoteAddr many = NewStage({{"_modules", objects.python().NewDict(all)}});
  EXPECT_TRUE(absl::IsResourceExhausted(stages.ReadTree(many, "top").status()));
}

TEST_P(OtherTreeTest, OneWhoseContainersHoldTooMany) {
  const std::vector<RemoteAddr> half(ModuleReader::kMostChildren / 2, NewStage());
  const RemoteAddr list = objects.List(half);
  EXPECT_THAT(Paths(NewStage({{"a", list}, {"b", list}})), SizeIs(2));
  const absl::Status refused =
      stages.ReadTree(NewStage({{"a", list}, {"b", list}, {"c", NewStage()}}), "top").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("a app.Stage holds more than 10000"));
}

// Few of the process's bytes can be many of ours: each of these shares its attributes with all.
TEST(ModuleTreeLimitsTest, MoreNamesAndValuesThanFit) {
  constexpr size_t kEachHas = 5000;
  FakeObjects objects(13);
  FakeMemory& memory = objects.memory();
  const RemoteAddr stage = objects.NewClass("app", "Stage");
  const RemoteAddr text = objects.Str(std::string(ValueReader::kLongestStr, 'x'));
  const RemoteAddr attributes =
      objects.python().NewDict(FakePython::Items(kEachHas, {objects.Str("x"), text}));
  const auto read = [&](size_t count) {
    std::vector<RemoteAddr> all;
    for (size_t i = 0; i < count; ++i) {
      all.push_back(objects.NewInstance(stage, {}));
      memory.Put(all.back() + objects.layout().managed_dict.dict, attributes);
    }
    const RemoteAddr root = objects.NewInstance(stage, {{"all", objects.List(all)}});
    Types types(memory, objects.interpreter());
    const ValueReader values = *ValueReader::Make(memory, objects.interpreter(), types);
    return ModuleReader(memory, objects.interpreter(), types, values, stage)
        .ReadTree(root, "top")
        .status();
  };
  constexpr size_t kMost = ModuleReader::kMostBytes / (kEachHas * ValueReader::kLongestStr);
  EXPECT_TRUE(read(kMost / 2).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(read(kMost + 1)));
}

}  // namespace
}  // namespace sbump
