#include "daemon/cpython/named_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_objects.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class NamedObjectTest : public testing::TestWithParam<int> {
 protected:
  FakeObjects objects{GetParam()};
  FakePython& python = objects.python();
  const RemoteAddr thing = objects.Int(7), other = objects.Int(8);

  absl::StatusOr<std::vector<RemoteAddr>> Find(std::string_view module, std::string_view name) {
    return FindNamed(objects.memory(), objects.interpreter(), module, name);
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, NamedObjectTest, testing::ValuesIn(kFakeMinors));

TEST_P(NamedObjectTest, OfTheModuleOfThatNameAlone) {
  objects.Import("app.engine", {{"start", other}, {"Engine", thing}});
  objects.Import("app", {{"Engine", other}});
  EXPECT_THAT(*Find("app.engine", "Engine"), ElementsAre(thing));
  EXPECT_THAT(*Find("app", "Engine"), ElementsAre(other));
}

TEST_P(NamedObjectTest, WhatIsNotThereIsNowhere) {
  objects.Import("app", {{"gone", RemoteAddr{}}, {"Engine", thing}});
  EXPECT_THAT(*Find("app.engine", "Engine"), IsEmpty());
  EXPECT_THAT(*Find("App", "Engine"), IsEmpty());
  EXPECT_THAT(*Find("app", "Engin"), IsEmpty());
  EXPECT_THAT(*Find("app", "gone"), IsEmpty()) << "del app.gone";
}

TEST_P(NamedObjectTest, EachInterpreterHasItsOwn) {
  objects.Import("app", {{"Engine", thing}});
  const RemoteAddr second = python.AddInterpreter(), third = python.AddInterpreter();
  EXPECT_THAT(*Find("app", "Engine"), ElementsAre(thing)) << "these have no modules yet";
  const auto modules = [&](RemoteAddr engine) {
    return python.NewDict(
        {{objects.Str("app"), python.NewModule({{objects.Str("Engine"), engine}})}});
  };
  python.SetModules(second, modules(other));
  python.SetModules(third, modules(RemoteAddr{}));
  python.SetModules(python.AddInterpreter(), python.NewDict({}));
  EXPECT_THAT(*Find("app", "Engine"), UnorderedElementsAre(thing, other));
}

TEST_P(NamedObjectTest, KeysThatAreNoStrArePassedOver) {
  python.SetModules(python.NewDict(
      {{python.NewTuple({}), other},
       {RemoteAddr{16}, other},
       {objects.Str("app"),
        python.NewModule({{python.NewTuple({}), other}, {objects.Str("Engine"), thing}})}}));
  EXPECT_THAT(*Find("app", "Engine"), ElementsAre(thing));
}

TEST_P(NamedObjectTest, AnythingCanStandInSysModules) {
  python.SetModules(python.NewDict({{objects.Str("tuple"), python.NewTuple({})},
                                    {objects.Str("dead"), RemoteAddr{0x7000'0000'0000}}}));
  EXPECT_TRUE(absl::IsDataLoss(Find("tuple", "Engine").status()));
  EXPECT_FALSE(Find("dead", "Engine").ok());
}

TEST_P(NamedObjectTest, ModulesThatAreBeingChanged) {
  const RemoteAddr modules =
      python.NewDict({{objects.Str("app"), python.NewModule({{objects.Str("Engine"), thing}})}});
  python.SetModules(modules);
  objects.memory().Put(modules + kDictUsed, int64_t{2});
  EXPECT_TRUE(absl::IsDataLoss(Find("app", "Engine").status()));
}

}  // namespace
}  // namespace sbump
