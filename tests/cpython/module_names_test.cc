#include "daemon/cpython/module_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/fake_python.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ModuleNamesTest : public testing::TestWithParam<int> {
 protected:
  FakePython python{GetParam()};
  ModuleNames names;

  void SetModules(const std::vector<std::pair<std::string, RemoteAddr>>& modules) {
    FakePython::Items items;
    for (const auto& [key, module] : modules) items.emplace_back(python.NewStr(key), module);
    python.SetModules(python.NewDict(items, {.log2_size = 8}));
  }
  absl::Status ReadAll() { return names.ReadAll(python.memory(), python.interpreter()); }
  absl::Status ReadNewest(const std::string& filename) {
    return names.ReadNewest(python.memory(), python.interpreter(), filename);
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, ModuleNamesTest, testing::ValuesIn(kFakeMinors));

TEST_P(ModuleNamesTest, KeyAndNameOfEachModule) {
  SetModules({{"pkg.mod", python.NewModule("pkg.mod", "/lib/pkg/mod.py")},
              {"__main__", python.NewModule("__main__", "/app/run.py")}});
  ASSERT_TRUE(ReadAll().ok());
  EXPECT_THAT(names.Find("/lib/pkg/mod.py"), ElementsAre("pkg.mod"));
  EXPECT_THAT(names.Find("/app/run.py"), ElementsAre("__main__"));
  EXPECT_THAT(names.Find("/lib/other.py"), IsEmpty());
}

TEST_P(ModuleNamesTest, AnAliasInSysModulesIsANameToo) {
  SetModules({{"alias", python.NewModule("real", "/lib/real.py")}});
  ASSERT_TRUE(ReadAll().ok());
  EXPECT_THAT(names.Find("/lib/real.py"), ElementsAre("alias", "real"));
}

TEST_P(ModuleNamesTest, OneFileImportedTwice) {
  SetModules(
      {{"a", python.NewModule("a", "/lib/m.py")}, {"b", python.NewModule("b", "/lib/m.py")}});
  ASSERT_TRUE(ReadAll().ok());
  ASSERT_TRUE(ReadAll().ok());
  EXPECT_THAT(names.Find("/lib/m.py"), ElementsAre("a", "b")) << "none twice";
}

TEST_P(ModuleNamesTest, WhatIsNoModuleIsPassedOver) {
  SetModules({{"deleted", RemoteAddr{}},
              {"builtin", python.NewModule({{python.NewStr("__name__"), python.NewStr("sys")}})},
              {"none", python.Allocate(64)},
              {"dead", RemoteAddr{0x7000'0000'0000}},
              {"good", python.NewModule("good", "/lib/good.py")}});
  ASSERT_TRUE(ReadAll().ok());
  EXPECT_THAT(names.Find("/lib/good.py"), ElementsAre("good"));
  EXPECT_THAT(names.Find(""), IsEmpty());
}

TEST_P(ModuleNamesTest, AttributesThatAreNoStr) {
  SetModules(
      {{"odd", python.NewModule({{python.NewTuple({}), python.NewTuple({})},
                                 {python.NewStr("__file__"), python.NewTuple({})},
                                 {python.NewStr("__name__"), RemoteAddr{}},
                                 {python.NewStr("__file__"), python.NewStr("/lib/odd.py")}})}});
  ASSERT_TRUE(ReadAll().ok());
  EXPECT_THAT(names.Find("/lib/odd.py"), ElementsAre("odd"));
}

TEST_P(ModuleNamesTest, NoSysModules) {
  python.SetModules(RemoteAddr{});
  EXPECT_TRUE(ReadAll().ok());
  python.SetModules(python.NewTuple({}));
  EXPECT_FALSE(ReadAll().ok());
}

TEST_P(ModuleNamesTest, EveryInterpreterHasItsOwn) {
  const RemoteAddr second = python.AddInterpreter();
  python.SetModules(second,
                    python.NewDict({{python.NewStr("sub"), python.NewModule("sub", "/s.py")}}));
  SetModules({{"main", python.NewModule("main", "/m.py")}});
  ASSERT_TRUE(ReadAll().ok());
  EXPECT_THAT(names.Find("/s.py"), ElementsAre("sub"));
  EXPECT_THAT(names.Find("/m.py"), ElementsAre("main"));
}

TEST_P(ModuleNamesTest, TheNewestAreLookedAtFromTheEnd) {
  std::vector<std::pair<std::string, RemoteAddr>> modules;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "m" + std::to_string(i);
    modules.emplace_back(name, python.NewModule(name, "/lib/" + name + ".py"));
  }
  SetModules(modules);
  ASSERT_TRUE(ReadNewest("/lib/m90.py").ok());
  EXPECT_THAT(names.Find("/lib/m90.py"), ElementsAre("m90"));
  EXPECT_THAT(names.Find("/lib/m89.py"), IsEmpty()) << "found before it";
  ASSERT_TRUE(ReadNewest("/lib/m5.py").ok());
  EXPECT_THAT(names.Find("/lib/m36.py"), ElementsAre("m36"));
  EXPECT_THAT(names.Find("/lib/m35.py"), IsEmpty()) << "older than the newest 64";
}

TEST_P(ModuleNamesTest, AModuleWithManyNamesHasItsOwnAmongTheFirst) {
  FakePython::Items attributes;
  for (int i = 0; i < 40; ++i) attributes.emplace_back(python.NewStr("x"), python.NewStr("y"));
  attributes.emplace_back(python.NewStr("__file__"), python.NewStr("/lib/late.py"));
  const RemoteAddr module = python.Allocate(64);
  python.memory().Put(module + kModuleDict, python.NewDict(attributes, {.log2_size = 7}));
  SetModules({{"late", module}});
  ASSERT_TRUE(ReadAll().ok());
  EXPECT_THAT(names.Find("/lib/late.py"), IsEmpty()) << "a bounded look";
}

TEST(LearntNamesTest, EmptyOnesAreNone) {
  ModuleNames names;
  names.Add("", "mod");
  names.Add("/lib/m.py", "");
  names.Add("/lib/m.py", "mod");
  EXPECT_THAT(names.Find(""), IsEmpty());
  EXPECT_THAT(names.Find("/lib/m.py"), ElementsAre("mod"));
}

// A process may put one file's name into any number of modules; a row of the session carries them
// all to each client.
TEST(LearntNamesTest, AFileHasABoundedNumberOfNames) {
  ModuleNames names;
  for (int i = 0; i < 100'000; ++i) names.Add("/lib/m.py", "m" + std::to_string(i));
  EXPECT_EQ(names.Find("/lib/m.py").size(), ModuleNames::kMaxNamesPerFile);
  names.Add("/lib/n.py", std::string(ModuleNames::kMaxNameBytes + 1, 'n'));
  EXPECT_THAT(names.Find("/lib/n.py"), IsEmpty());
}

}  // namespace
}  // namespace sbump
