#include "client/rank/called_items.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CalledItemsTest : public ::testing::Test {
 protected:
  v1::TargetStats& Add(const std::string& filename, const std::string& module,
                       const std::string& qualname, uint64_t calls = 1) {
    v1::TargetStats& row = *update_.add_targets();
    row.set_filename(filename);
    if (!module.empty()) row.add_module_names(module);
    row.set_qualname(qualname);
    row.set_calls(calls);
    return row;
  }
  std::vector<CalledItem> Code(Width width = Width::kAll) const {
    return CodeItems(update_.targets(), width);
  }
  static std::vector<std::string> NamesOf(const CalledItem& item) {
    std::vector<std::string> names;
    for (const ItemStep& step : item.steps) names.push_back(step.name);
    return names;
  }

  v1::SessionUpdate update_;
};

TEST_F(CalledItemsTest, AFunctionIsWithinPackagesAModuleAndAClass) {
  Add("/app/shop/db/orders.py", "shop.db.orders", "Orders.find", 7);
  const std::vector<CalledItem> items = Code();
  ASSERT_THAT(items, SizeIs(1));
  EXPECT_THAT(NamesOf(items[0]),
              ElementsAre("shop", "shop.db", "shop.db.orders", "shop.db.orders:Orders",
                          "shop.db.orders:Orders.find"));
  EXPECT_EQ(items[0].calls, 7u);
  EXPECT_THAT(items[0].steps[0].patterns, IsEmpty());
  EXPECT_THAT(items[0].steps[2].patterns, ElementsAre("/app/shop/db/orders.py:*"));
  EXPECT_THAT(items[0].steps[3].patterns, ElementsAre("/app/shop/db/orders.py:Orders.*"));
  EXPECT_THAT(items[0].steps[4].patterns, ElementsAre("/app/shop/db/orders.py:Orders.find"));
  EXPECT_EQ(items[0].steps[4].level, GroupLevel::kFunction);
}

TEST_F(CalledItemsTest, GroupsOfTheUsersOwn) {
  Add("/app/shop/a.py", "shop.a", "f").set_pattern("shop.a:f");
  Add("/app/shop/a.py", "shop.a", "g").set_pattern("*:g");
  Add("/app/other.py", "other", "h").set_pattern("*:h");
  std::vector<CalledItem> items = Code(Width::kCalled);
  const std::vector<NamedGroup> groups = {
      {"first", {"shop.a:f"}}, {"other", {"*:x", "*:g", "*:h"}}, {"none", {"*:y"}}};
  EXPECT_THAT(PutIntoGroups(groups, items), ElementsAre("none"));
  ASSERT_THAT(items, SizeIs(3));
  EXPECT_THAT(NamesOf(items[0]), ElementsAre("other", "other of other", "other:h"))
      << "a part is not called as the whole is";
  EXPECT_THAT(NamesOf(items[1]),
              ElementsAre("first", "shop of first", "shop.a of first", "shop.a:f"));
  EXPECT_THAT(NamesOf(items[2]),
              ElementsAre("other", "shop of other", "shop.a of other", "shop.a:g"));
  EXPECT_EQ(items[2].steps[0].level, GroupLevel::kNamed);
  EXPECT_THAT(items[2].steps[0].patterns, IsEmpty())
      << "they may take what an earlier group has: its parts' do";
}

TEST_F(CalledItemsTest, WhatIsDefinedWithinAFunctionIsOfThatFunctionsClass) {
  Add("/app/a.py", "a", "Outer.Inner.run.<locals>.<lambda>");
  Add("/app/a.py", "a", "run.<locals>.Local.method");
  const std::vector<CalledItem> items = Code();
  EXPECT_THAT(NamesOf(items[0]),
              ElementsAre("a", "a:Outer", "a:Outer.Inner", "a:Outer.Inner.run.<locals>.<lambda>"));
  EXPECT_THAT(NamesOf(items[1]), ElementsAre("a", "a:run.<locals>.Local.method"));
}

TEST_F(CalledItemsTest, APackagesOwnFileIsAModuleInIt) {
  Add("/app/shop/__init__.py", "shop", "f");
  EXPECT_THAT(NamesOf(Code()[0]), ElementsAre("shop", "shop.__init__", "shop.__init__:f"));
}

TEST_F(CalledItemsTest, AFileThatNobodyImportedHasItsOwnName) {
  Add("<frozen importlib._bootstrap>", "", "f");
  EXPECT_THAT(NamesOf(Code()[0]),
              ElementsAre("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>:f"));
}

TEST_F(CalledItemsTest, PatternsMatchNothingElse) {
  Add("/app/[old]/a?.py", "", "f*");
  EXPECT_THAT(Code()[0].steps[1].patterns, ElementsAre("/app/[[]old]/a[?].py:f[*]"));
}

// A pattern's first colon ends its file.
TEST_F(CalledItemsTest, AColonInAFileIsAnyCharacter) {
  Add("C:/a.py", "", "f:g");
  EXPECT_THAT(Code()[0].steps[1].patterns, ElementsAre("C?/a.py:f:g"));
}

TEST_F(CalledItemsTest, LongNamesAreTheirEnds) {
  Add("/store/" + std::string(300, 'x') + "/a.py", "", "f");
  for (int i = 110; i < 120; ++i)  // each place that a cut could be at
    Add("/long/\xC3\xA4" + std::string(i, 'y') + "/b.py", "", "g");
  for (const CalledItem& item : Code()) {
    for (const ItemStep& step : item.steps) {
      EXPECT_LE(step.name.size(), 123u);
      if (step.name.substr(0, 1) == "/") continue;
      EXPECT_EQ(step.name.substr(0, 3), "...");
      EXPECT_NE(step.name[3] & 0xC0, 0x80) << step.name;
    }
  }
  EXPECT_THAT(Code().back().steps[1].name, ::testing::EndsWith(":f"));
}

TEST_F(CalledItemsTest, OneFunctionInSeveralProcessesIsOne) {
  Add("/app/a.py", "a", "f", 3).set_pid(1);
  Add("/app/a.py", "a", "f", 4).set_pid(2);
  ASSERT_THAT(Code(), SizeIs(1));
  EXPECT_EQ(Code()[0].calls, 7u);
}

TEST_F(CalledItemsTest, WhatWasNotCalledIsNoItem) {
  Add("/app/a.py", "a", "f", 0);
  Add("", "", "top.attn").set_module_type("Attention");
  Add("libc.so.6", "", "write").mutable_native();
  EXPECT_THAT(Code(), IsEmpty());
}

TEST_F(CalledItemsTest, NarrowPatternsAreOfFunctionsAlone) {
  Add("/app/a.py", "a", "C.f");
  const CalledItem item = Code(Width::kCalled)[0];
  EXPECT_THAT(item.steps[0].patterns, IsEmpty());
  EXPECT_THAT(item.steps[1].patterns, IsEmpty());
  EXPECT_THAT(item.steps[2].patterns, ElementsAre("/app/a.py:C.f"));
}

TEST_F(CalledItemsTest, ModulesOfAModelAreWithinOneAnotherByPath) {
  Add("", "", "top.layers.0", 5).set_module_type("Block");
  Add("/app/a.py", "a", "f");
  const std::vector<CalledItem> items = ModuleItems(update_.targets(), Width::kAll);
  ASSERT_THAT(items, SizeIs(1));
  EXPECT_THAT(NamesOf(items[0]), ElementsAre("top", "top.layers", "top.layers.0"));
  EXPECT_THAT(items[0].steps[1].patterns, ElementsAre("top.layers", "top.layers.*"));
  EXPECT_EQ(items[0].steps[1].level, GroupLevel::kModelModule);
  EXPECT_THAT(ModuleItems(update_.targets(), Width::kCalled)[0].steps[2].patterns,
              ElementsAre("top.layers.0"));
}

// The daemon would warn of a pattern that nothing matches.
TEST_F(CalledItemsTest, AModuleWithoutPartsIsAskedForNone) {
  Add("", "", "top.head", 5).set_module_type("Linear");
  Add("", "", "top.block", 5).set_module_type("Block");
  Add("", "", "top.block.norm", 0).set_module_type("LayerNorm");
  const std::vector<CalledItem> items = ModuleItems(update_.targets(), Width::kAll);
  ASSERT_THAT(items, SizeIs(2));
  EXPECT_THAT(items[0].steps.back().patterns, ElementsAre("top.block", "top.block.*"));
  EXPECT_THAT(items[1].steps.back().patterns, ElementsAre("top.head"));
}

}  // namespace
}  // namespace sbump
