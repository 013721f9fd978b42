#include "client/rank/group_tree.h"

#include "daemon/base/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// "pkg/mod/f": a function f of a module of a package; "mod/f": of a module in no package.
CalledItem Function(const std::string& path, uint64_t calls = 1) {
  CalledItem item = {.calls = calls};
  std::string name;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    name += StrCat(name.empty() ? "" : ".", path.substr(begin, end - begin));
    item.steps.push_back({.name = name, .level = GroupLevel::kPackage});
    begin = end + 1;
  }
  const size_t count = item.steps.size();
  item.steps[count - 2].level = GroupLevel::kModule;
  item.steps[count - 2].patterns = {item.steps[count - 2].name + ":*"};
  item.steps[count - 1].level = GroupLevel::kFunction;
  item.steps[count - 1].patterns = {item.steps[count - 1].name};
  return item;
}

std::vector<std::string> NamesOf(const std::vector<GroupNode>& groups) {
  std::vector<std::string> names;
  for (const GroupNode& group : groups) names.push_back(group.name);
  return names;
}

std::vector<GroupNode> TreeOf(const std::vector<CalledItem>& items,
                              GroupLevel deepest = GroupLevel::kFunction) {
  return MakeGroupTree(items, deepest);
}

TEST(GroupTreeTest, GroupsHoldPartsTheMostCalledFirst) {
  const auto groups = TreeOf({Function("a/x/f", 1), Function("a/x/g", 5), Function("a/y/h", 2),
                              Function("a/y/i", 2), Function("b/z/j", 3), Function("b/z/k", 4)});
  EXPECT_THAT(NamesOf(groups), ElementsAre("a", "b.z"));
  EXPECT_THAT(NamesOf(groups[0].parts), ElementsAre("a.x", "a.y"));
  EXPECT_THAT(NamesOf(groups[0].parts[0].parts), ElementsAre("a.x.g", "a.x.f"));
  EXPECT_EQ(groups[0].calls, 10u);
  EXPECT_THAT(groups[0].patterns, UnorderedElementsAre("a.x:*", "a.y:*"));
  EXPECT_THAT(groups[0].parts[0].patterns, ElementsAre("a.x:*"));
}

TEST(GroupTreeTest, AGroupOfOnePartIsThatPart) {
  const auto groups = TreeOf({Function("a/x/f"), Function("b/y/g"), Function("b/y/h")});
  EXPECT_THAT(NamesOf(groups), UnorderedElementsAre("a.x.f", "b.y"));
}

TEST(GroupTreeTest, OneOutermostGroupIsItsParts) {
  EXPECT_THAT(NamesOf(TreeOf({Function("a/x/f"), Function("a/x/g")})),
              UnorderedElementsAre("a.x.f", "a.x.g"));
  EXPECT_THAT(NamesOf(TreeOf({Function("a/x/f")})), ElementsAre("a.x.f"));
  EXPECT_THAT(TreeOf({}), IsEmpty());
}

TEST(GroupTreeTest, GroupsThatAreNamedStay) {
  std::vector<CalledItem> items = {Function("a/x/f"), Function("a/x/g"), Function("b/y/h")};
  const ItemStep left = {"left", GroupLevel::kNamed, {}};
  const ItemStep right = {"right", GroupLevel::kNamed, {}};
  for (size_t i = 0; i < 3; ++i)
    items[i].steps.insert(items[i].steps.begin(), i < 2 ? left : right);
  const auto groups = TreeOf(items);
  ASSERT_THAT(NamesOf(groups), ElementsAre("left", "right"));
  EXPECT_THAT(groups[0].patterns, ElementsAre("a.x:*"));
  EXPECT_THAT(NamesOf(groups[0].parts), UnorderedElementsAre("a.x.f", "a.x.g"))
      << "not the one module that they are in";
  EXPECT_THAT(groups[1].parts, IsEmpty());
  EXPECT_THAT(groups[1].patterns, ElementsAre("b.y.h"));
  EXPECT_THAT(NamesOf(Expanded(groups, 32)), ElementsAre("left", "right"));
  items.pop_back();
  EXPECT_THAT(NamesOf(TreeOf(items)), ElementsAre("left"));
  EXPECT_THAT(NamesOf(TreeOf(items, GroupLevel::kPackage)), ElementsAre("left"));
}

TEST(GroupTreeTest, NothingIsBelowTheDeepestLevel) {
  const std::vector<CalledItem> items = {Function("a/x/f"), Function("a/x/g"), Function("b/y/h"),
                                         Function("c/i")};
  const auto modules = TreeOf(items, GroupLevel::kModule);
  EXPECT_THAT(NamesOf(modules), UnorderedElementsAre("a.x", "b.y", "c"));
  for (const GroupNode& module : modules) {
    EXPECT_THAT(module.parts, IsEmpty());
    EXPECT_THAT(module.patterns, ElementsAre(module.name + ":*"));
  }
  const auto packages = TreeOf(items, GroupLevel::kPackage);
  EXPECT_THAT(NamesOf(packages), UnorderedElementsAre("a", "b", "c"));
  EXPECT_THAT(packages[0].patterns, ElementsAre("a.x:*"));
}

// What no part holds is a part, too.
TEST(GroupTreeTest, FunctionsOfNoClassAreTheModuleItself) {
  CalledItem method = {.calls = 1};
  method.steps = {{"m", GroupLevel::kModule, {"m:*"}},
                  {"m:C", GroupLevel::kClass, {"m:C.*"}},
                  {"m:C.f", GroupLevel::kFunction, {"m:C.f"}}};
  CalledItem function = {.calls = 3};
  function.steps = {{"m", GroupLevel::kModule, {"m:*"}}, {"m:g", GroupLevel::kFunction, {"m:g"}}};
  const auto groups = TreeOf({method, function}, GroupLevel::kClass);
  EXPECT_THAT(NamesOf(groups), ElementsAre("m itself", "m:C"));
  EXPECT_THAT(groups[0].patterns, ElementsAre("m:g"));
  EXPECT_EQ(groups[0].calls, 3u);
}

// Of items that stand for themselves alone no group has a pattern of its own.
TEST(GroupTreeTest, WhatIsCutOffIsSelectedByItsOwnPatterns) {
  std::vector<CalledItem> items = {Function("a/x/f"), Function("a/x/g"), Function("b/y/h")};
  for (CalledItem& item : items) {
    for (size_t i = 0; i + 1 < item.steps.size(); ++i) item.steps[i].patterns.clear();
  }
  for (const GroupLevel deepest : {GroupLevel::kPackage, GroupLevel::kModule}) {
    const auto groups = TreeOf(items, deepest);
    ASSERT_EQ(groups.size(), 2u);
    EXPECT_THAT(groups[0].patterns, UnorderedElementsAre("a.x.f", "a.x.g"));
    EXPECT_THAT(groups[1].patterns, ElementsAre("b.y.h"));
  }
}

TEST(GroupTreeTest, AModuleOfAModelIsAPartOfItself) {
  CalledItem block = {.calls = 2}, attn = {.calls = 1};
  block.steps = {{"top", GroupLevel::kModelModule, {"top", "top.*"}}};
  attn.steps = {{"top", GroupLevel::kModelModule, {"top", "top.*"}},
                {"top.attn", GroupLevel::kModelModule, {"top.attn", "top.attn.*"}}};
  const auto groups = TreeOf({block, attn}, GroupLevel::kModelModule);
  EXPECT_THAT(NamesOf(groups), ElementsAre("top itself", "top.attn"));
  EXPECT_THAT(groups[0].patterns, ElementsAre("top"));
}

TEST(GroupTreeTest, ThoseThatAreCalledLeastAreOne) {
  auto groups =
      TreeOf({Function("a/f", 9), Function("b/f", 8), Function("c/f", 2), Function("d/f", 1)});
  groups = AtMost(std::move(groups), 3, "pkg");
  EXPECT_THAT(NamesOf(groups), ElementsAre("a.f", "b.f", "2 others of pkg"));
  EXPECT_EQ(groups[2].calls, 3u);
  EXPECT_THAT(groups[2].patterns, ElementsAre("c.f", "d.f"));
  EXPECT_THAT(NamesOf(groups[2].parts), ElementsAre("c.f", "d.f"));
  EXPECT_THAT(NamesOf(AtMost(std::move(groups), 3, "pkg")),
              ElementsAre("a.f", "b.f", "2 others of pkg"));
}

TEST(GroupTreeTest, LargeGroupsAreExpandedWhereThereIsRoom) {
  std::vector<CalledItem> items = {Function("b/f"), Function("b/g")};
  for (int i = 0; i < 4; ++i) {
    items.push_back(Function(StrCat("a/", i, "/f"), 3));
    items.push_back(Function(StrCat("a/", i, "/g"), 3));
  }
  EXPECT_THAT(NamesOf(Expanded(TreeOf(items), 4)), ElementsAre("a", "b.f", "b.g"));
  EXPECT_THAT(NamesOf(Expanded(TreeOf(items), 5)), ElementsAre("a.0", "a.1", "a.2", "a.3", "b"));
  EXPECT_EQ(Expanded(TreeOf(items), 100).size(), 10u);
  EXPECT_THAT(NamesOf(Expanded(TreeOf(items), 1)), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace sbump
