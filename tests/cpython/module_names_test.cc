#include "daemon/cpython/module_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "daemon/cpython/dict.h"
#include "daemon/cpython/interpreter_state.h"
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

class UnseenModulesTest : public ModuleNamesTest {
 protected:
  static constexpr int kOld = 100;
  FakePython::Items items;

  void SetUp() override {
    for (int i = 0; i < kOld; ++i) Add("m" + std::to_string(i));
    Place();
  }
  RemoteAddr New(const std::string& name) { return python.NewModule(name, "/lib/" + name + ".py"); }
  void Add(const std::string& name) { items.emplace_back(python.NewStr(name), New(name)); }
  void Place() { python.SetModules(python.NewDict(items, {.log2_size = 8})); }
  void SetEntry(int64_t index, RemoteAddr key, RemoteAddr module) {
    const DictEntries entries = *FindDictEntries(python.memory(), python.layout(),
                                                 python.interpreter().dict_type, modules());
    const RemoteAddr at = entries.first + index * entries.entry_size + (entries.entry_size - 16);
    python.memory().Put(at, DictEntry{key, module});
  }
  RemoteAddr modules() { return ListModuleDicts(python.memory(), python.interpreter())->at(0); }
  uint64_t CountReads(const std::string& filename) {
    const uint64_t before = python.memory().reads();
    EXPECT_TRUE(ReadNewest(filename).ok());
    return python.memory().reads() - before;
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, UnseenModulesTest, testing::ValuesIn(kFakeMinors));

// A thread waits for each; a program may run thousands of them.
TEST_P(UnseenModulesTest, CodeOfNoModuleCostsALookAtAllModulesOnlyOnce) {
  EXPECT_GT(CountReads("/templates/page.html"), 500U);
  EXPECT_LT(CountReads("/templates/page.html"), 12U);
  EXPECT_LT(CountReads("/templates/other.html"), 12U);
}

TEST_P(UnseenModulesTest, OneThatTakesTheNameOfAnotherIsSeen) {
  CountReads("/templates/page.html");
  SetEntry(70, python.NewStr("m70"), New("plugin"));
  CountReads("/lib/plugin.py");
  EXPECT_THAT(names.Find("/lib/plugin.py"), ElementsAre("m70", "plugin"));
}

TEST_P(UnseenModulesTest, OneThatIsAddedIsSeen) {
  Add("m100");
  Place();
  SetEntry(100, RemoteAddr{}, RemoteAddr{});
  CountReads("/templates/page.html");
  SetEntry(100, items.back().first, items.back().second);
  EXPECT_LT(CountReads("/lib/m100.py"), 60U);
  EXPECT_THAT(names.Find("/lib/m100.py"), ElementsAre("m100"));
}

TEST_P(UnseenModulesTest, AfterTheDictHasMoved) {
  CountReads("/templates/page.html");
  Add("m100");
  Place();
  CountReads("/lib/m100.py");
  EXPECT_THAT(names.Find("/lib/m100.py"), ElementsAre("m100"));
}

// types.ModuleType(), sys.modules, and only then __file__ (runpy).
TEST_P(UnseenModulesTest, OneThatGetsItsFileLaterIsSeen) {
  const RemoteAddr made = python.NewModule({{python.NewStr("__name__"), python.NewStr("made")}});
  items.emplace_back(python.NewStr("made"), made);
  Place();
  CountReads("/templates/page.html");
  const RemoteAddr dict = *python.memory().ReadPointer(New("made") + kModuleDict);
  python.memory().Put(made + kModuleDict, dict);
  CountReads("/lib/made.py");
  EXPECT_THAT(names.Find("/lib/made.py"), ElementsAre("made"));
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

TEST(LearntNamesTest, ABoundedAmountOfThem) {
  ModuleNames names;
  const std::string path(64 << 10, 'x');
  const auto file = [&](size_t i) { return path + std::to_string(i); };
  size_t count = 0;
  for (; !names.Find((names.Add(file(count), "m"), file(count))).empty(); ++count) {
  }
  EXPECT_LE(count, ModuleNames::kMaxBytes >> 16);
  EXPECT_GT(count, ModuleNames::kMaxBytes >> 17);
  EXPECT_THAT(names.Find(file(0)), ElementsAre("m"));
}

}  // namespace
}  // namespace sbump
