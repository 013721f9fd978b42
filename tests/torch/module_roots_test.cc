#include "daemon/torch/module_roots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/torch/fake_torch.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class ModuleRootsTest : public testing::TestWithParam<int> {
 protected:
  FakeTorch torch{GetParam()};
  FakeObjects& objects = torch.objects();
  FakeMemory& memory = torch.memory();
  size_t in_circles = 0;  // of the last one that was found

  absl::StatusOr<std::vector<RemoteAddr>> Find(const Interpreter& interpreter, RemoteAddr root_type,
                                               ListOwner owner = ListOwner::kRunning) {
    Types types(memory, interpreter);
    const ValueReader values = *ValueReader::Make(memory, interpreter, types);
    ModuleReader reader(memory, interpreter, types, values, root_type);
    const std::vector<Glob> none;
    CallableTypes callables(memory, interpreter, types, none, **types.Find(root_type));
    SB_ASSIGN_OR_RETURN(ModuleRoots found,
                        FindModuleRoots(memory, interpreter, owner, reader, callables));
    in_circles = found.in_circles;
    return found.roots;
  }
  absl::StatusOr<std::vector<RemoteAddr>> Find() {
    return Find(torch.interpreter(), torch.module_type());
  }
  // Of no attributes but its children, in that generation.
  RemoteAddr NewModule(const FakeObjects::Attributes& children, int generation) {
    return objects.NewInstance(torch.module_type(), {{"_modules", objects.Dict(children)}},
                               AttributePlace::kDict, generation);
  }
  void SetHeld(RemoteAddr children, RemoteAddr value) {
    const DictEntries entries =
        *FindDictEntries(memory, objects.layout(), torch.interpreter().dict_type, children);
    memory.Put(entries.first + (entries.entry_size - 8), value);
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, ModuleRootsTest, testing::ValuesIn(kFakeMinors));

TEST_P(ModuleRootsTest, WhatNoOtherModuleHolds) {
  const RemoteAddr leaf = torch.NewModule({});
  const RemoteAddr inner = torch.NewModule({.children = {{"leaf", leaf}}});
  const RemoteAddr model = torch.NewModule({.children = {{"inner", inner}, {"leaf", leaf}}});
  const RemoteAddr stray = torch.NewModule({});
  EXPECT_THAT(*Find(), UnorderedElementsAre(model, stray));
}

TEST_P(ModuleRootsTest, OfEachGenerationAndThePermanentOne) {
  std::vector<RemoteAddr> modules;
  for (int generation = 0; generation < 4; ++generation)
    modules.push_back(NewModule({}, generation));
  EXPECT_THAT(*Find(), testing::UnorderedElementsAreArray(modules));
  const RemoteAddr model = NewModule({{"a", modules[0]}, {"b", modules[3]}}, 1);
  EXPECT_THAT(*Find(), UnorderedElementsAre(modules[1], modules[2], model));
}

TEST_P(ModuleRootsTest, InstancesOfOtherClassesAreNone) {
  const RemoteAddr child = torch.NewModule({});
  objects.NewInstance(objects.NewClass("app", "Other"), {{"module", child}});
  const RemoteAddr derived = torch.NewModule({.type = torch.Class("app", "Mine")});
  EXPECT_THAT(*Find(), UnorderedElementsAre(child, derived));
}

TEST_P(ModuleRootsTest, OneThatIsBeingDestroyedIsNone) {
  const RemoteAddr model = torch.NewModule({});
  objects.Free(torch.NewModule({}));
  for (const ListOwner owner : {ListOwner::kStopped, ListOwner::kRunning})
    EXPECT_THAT(*Find(torch.interpreter(), torch.module_type(), owner),
                UnorderedElementsAre(model));
}

TEST_P(ModuleRootsTest, NoModuleAtAll) { EXPECT_THAT(*Find(), IsEmpty()); }

TEST_P(ModuleRootsTest, OneThatHoldsItselfIsOne) {
  const RemoteAddr children = objects.Dict({{"self", objects.None()}});
  const RemoteAddr model = objects.NewInstance(torch.module_type(), {{"_modules", children}});
  SetHeld(children, model);
  EXPECT_THAT(*Find(), ElementsAre(model));
}

TEST_P(ModuleRootsTest, ThoseThatNoRootLeadsToAreCounted) {
  const RemoteAddr up = objects.Dict({{"up", objects.None()}});
  const RemoteAddr child = objects.NewInstance(torch.module_type(), {{"_modules", up}});
  const RemoteAddr below = torch.NewModule({});
  const RemoteAddr parent = torch.NewModule({.children = {{"child", child}, {"below", below}}});
  SetHeld(up, parent);
  EXPECT_THAT(std::string(Find().status().message()), testing::HasSubstr("3 instances"));
  const RemoteAddr other = torch.NewModule({});
  EXPECT_THAT(*Find(), ElementsAre(other));
  EXPECT_EQ(in_circles, 3u);
  const RemoteAddr holder = torch.NewModule({.children = {{"parent", parent}}});
  EXPECT_THAT(*Find(), UnorderedElementsAre(other, holder));
  EXPECT_EQ(in_circles, 0u);
}

TEST_P(ModuleRootsTest, OneThatIsBeingMadeHoldsNone) {
  const RemoteAddr child = torch.NewModule({});
  const RemoteAddr made = NewModule({{"child", child}}, 0);
  const auto& managed = objects.layout().managed_dict;
  memory.Put(made + (managed.dict == kAbsent ? 16 : managed.dict), RemoteAddr{});
  EXPECT_THAT(*Find(), UnorderedElementsAre(child, made));
}

TEST_P(ModuleRootsTest, OneWhoseChildrenAreBrokenIsStillOne) {
  const RemoteAddr broken = torch.NewModule({.children = {{"fake", objects.Int(3)}}});
  EXPECT_THAT(*Find(), UnorderedElementsAre(broken));
}

TEST_P(ModuleRootsTest, WhatOneHoldsThatHoldsTooManyIsNoRoot) {
  const RemoteAddr stage = objects.NewClass("app", "Stage");
  const std::vector<RemoteAddr> many(ModuleReader::kMostChildren, objects.NewInstance(stage, {}));
  objects.NewInstance(stage, {{"many", objects.List(many)}, {"more", objects.List({many[0]})}});
  EXPECT_TRUE(absl::IsFailedPrecondition(Find(torch.interpreter(), stage).status()));
}

TEST_P(ModuleRootsTest, OfAnotherClassAttributesHold) {
  const RemoteAddr stage = objects.NewClass("app", "Stage");
  const RemoteAddr first = objects.NewInstance(stage, {}), second = objects.NewInstance(stage, {});
  const RemoteAddr root =
      objects.NewInstance(stage, {{"first", first}, {"rest", objects.List({second})}});
  torch.NewModule({});
  EXPECT_THAT(*Find(torch.interpreter(), stage), ElementsAre(root));
}

TEST_P(ModuleRootsTest, WhileACollectionRunsTheListsAreNotWhole) {
  torch.NewModule({});
  memory.Put(objects.python().CollectingFlag(), int32_t{1});
  EXPECT_TRUE(absl::IsUnavailable(Find().status()));
}

TEST_P(ModuleRootsTest, AListThatChangesIsNoAnswer) {
  const RemoteAddr first = torch.NewModule({}), second = torch.NewModule({});
  memory.Put(second + -kGcHeadSize + 8, second);  // its link back
  EXPECT_TRUE(absl::IsUnavailable(Find().status()));
  EXPECT_THAT(*Find(torch.interpreter(), torch.module_type(), ListOwner::kStopped),
              UnorderedElementsAre(first, second));
}

TEST_P(ModuleRootsTest, AFreeThreadedBuildHasNoLists) {
  Interpreter interpreter = torch.interpreter();
  interpreter.own_layout.free_threaded = true;
  EXPECT_TRUE(absl::IsUnimplemented(Find(interpreter, torch.module_type()).status()));
}

}  // namespace
}  // namespace sbump
