#include "daemon/cpython/heap_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/cpython/unicode.h"
#include "tests/fakes/fake_python.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kNoDeadline = std::numeric_limits<uint64_t>::max();

class HeapWalkTest : public testing::TestWithParam<int> {
 protected:
  FakePython python{GetParam()};
  const bool has_qualname = GetParam() >= 11;

  absl::StatusOr<HeapWalk> Walk(uint64_t deadline_ns = kNoDeadline) {
    return WalkHeap(python.memory(), python.interpreter(), deadline_ns);
  }
  std::vector<std::string> Qualnames() {
    std::vector<std::string> names;
    const auto walk = Walk();
    for (const CodeObject& code : walk->codes) names.push_back(code.qualname);
    return names;
  }
  // With what it has.
  void ExpectIncomplete(std::string_view why) {
    const auto walk = Walk();
    ASSERT_TRUE(walk.ok()) << walk.status();
    EXPECT_TRUE(walk->incomplete);
    EXPECT_THAT(walk->incomplete_why, HasSubstr(std::string(why)));
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, HeapWalkTest, testing::ValuesIn(kFakeMinors));

TEST_P(HeapWalkTest, AnEmptyHeap) {
  const auto walk = Walk();
  ASSERT_TRUE(walk.ok()) << walk.status();
  EXPECT_THAT(walk->codes, IsEmpty());
  EXPECT_EQ(walk->objects, 0u);
  EXPECT_FALSE(walk->incomplete);
}

TEST_P(HeapWalkTest, FunctionsOfEveryGeneration) {
  for (int generation = 0; generation < 4; ++generation) {
    const std::string name = "f" + std::to_string(generation);
    python.NewFunction(python.NewCode({.name = name}), name, "mod", generation);
    python.Track(python.Allocate(64) + kGcHeadSize, generation);  // something else
  }
  const auto walk = Walk();
  ASSERT_TRUE(walk.ok()) << walk.status();
  EXPECT_EQ(walk->objects, 8u);
  EXPECT_EQ(walk->functions, 4u);
  EXPECT_EQ(walk->unreadable, 0u);
  EXPECT_FALSE(walk->incomplete);
  EXPECT_THAT(Qualnames(), ElementsAre("f0", "f1", "f2", "f3"));
}

TEST_P(HeapWalkTest, NoCodeObjectTwice) {
  const RemoteAddr code = python.NewCode({});
  for (int i = 0; i < 3; ++i) python.NewFunction(code);
  const auto walk = Walk();
  EXPECT_EQ(walk->functions, 3u);
  EXPECT_THAT(walk->codes, SizeIs(1));
}

TEST_P(HeapWalkTest, CodeNestedInConstants) {
  const RemoteAddr innermost =
      python.NewCode({.name = "<lambda>", .qualname = "make.<locals>.inner.<locals>.<lambda>"});
  const RemoteAddr inner =
      python.NewCode({.name = "inner", .qualname = "make.<locals>.inner", .consts = {innermost}});
  python.NewFunction(python.NewCode({.name = "make", .consts = {inner}}), "make");
  EXPECT_THAT(Qualnames(),
              ElementsAre("make", "make.<locals>.inner", "make.<locals>.inner.<locals>.<lambda>"));
}

TEST_P(HeapWalkTest, AMethodsNameComesFromItsFunction) {
  python.NewFunction(python.NewCode({.name = "run", .qualname = "Engine.run"}), "Engine.run");
  const auto walk = Walk();
  ASSERT_THAT(walk->codes, SizeIs(1));
  EXPECT_EQ(walk->codes[0].qualname, "Engine.run");
  EXPECT_EQ(walk->codes[0].qualname_source,
            has_qualname ? QualnameSource::kCoQualname : QualnameSource::kFunctionQualname);
}

TEST_P(HeapWalkTest, ABorrowedQualnameIsNotTheCodes) {
  python.NewFunction(python.NewCode({.name = "wrapper", .qualname = "deco.<locals>.wrapper"}),
                     "Engine.run");
  const auto walk = Walk();
  ASSERT_THAT(walk->codes, SizeIs(1));
  EXPECT_EQ(walk->codes[0].qualname, has_qualname ? "deco.<locals>.wrapper" : "wrapper");
  EXPECT_EQ(walk->codes[0].qualname_source,
            has_qualname ? QualnameSource::kCoQualname : QualnameSource::kCoName);
}

TEST_P(HeapWalkTest, WhatEnclosesAWrapperNamesIt) {
  const RemoteAddr wrapper =
      python.NewCode({.name = "wrapper", .qualname = "deco.<locals>.wrapper"});
  python.NewFunction(wrapper, "Engine.run");  // seen first, under a borrowed name
  python.NewFunction(python.NewCode({.name = "deco", .consts = {wrapper}}), "deco");
  EXPECT_THAT(Qualnames(), UnorderedElementsAre("deco", "deco.<locals>.wrapper"));
}

TEST_P(HeapWalkTest, AModulesCodeIsNoGuessAndNamesWhatItHolds) {
  const RemoteAddr f = python.NewCode({.name = "f"});
  const RemoteAddr module = python.NewCode({.name = "<module>", .flags = 0, .consts = {f}});
  python.NewFunction(python.NewCode({.name = "load", .consts = {module}}), "load");
  const auto walk = Walk();
  ASSERT_THAT(walk->codes, SizeIs(3));
  EXPECT_EQ(walk->codes[1].name, "<module>");
  EXPECT_EQ(walk->codes[1].qualname, "<module>");
  EXPECT_EQ(walk->codes[1].qualname_source, QualnameSource::kCoQualname);
  EXPECT_EQ(walk->codes[2].qualname, "f");
  EXPECT_NE(walk->codes[2].qualname_source, QualnameSource::kCoName);
}

TEST_P(HeapWalkTest, ModuleNamesFromSysModulesAndFromFunctions) {
  python.SetModules(
      python.NewDict({{python.NewStr("pkg.mod"), python.NewModule("pkg.mod", "/app/mod.py")}}));
  python.NewFunction(python.NewCode({.filename = "/app/mod.py"}), "f", "pkg.mod");
  python.NewFunction(python.NewCode({.filename = "/app/unlisted.py"}), "f", "unlisted");
  const auto walk = Walk();
  EXPECT_THAT(walk->modules.Find("/app/mod.py"), ElementsAre("pkg.mod"));
  EXPECT_THAT(walk->modules.Find("/app/unlisted.py"), ElementsAre("unlisted"));
}

TEST_P(HeapWalkTest, EveryInterpreterIsWalkedOnce) {
  python.NewFunction(python.NewCode({}));
  python.AddInterpreter();
  const auto walk = Walk();
  ASSERT_TRUE(walk.ok()) << walk.status();
  EXPECT_EQ(walk->functions, 1u);
}

// ---- What a walk may meet ----

TEST_P(HeapWalkTest, ARunningCollection) {
  python.memory().Put(python.CollectingFlag(), int32_t{1});
  EXPECT_TRUE(absl::IsUnavailable(Walk().status()));
}

TEST_P(HeapWalkTest, DeadPointersArePassedOverAndCounted) {
  for (const uint64_t code : {uint64_t{0}, uint64_t{3}, uint64_t{0x7000'0000'0000},
                              uint64_t{1} << 62, python.NewTuple({}).value}) {
    python.NewFunction(RemoteAddr{code});
  }
  python.NewFunction(python.NewCode({.name = "good"}), "good");
  const auto walk = Walk();
  ASSERT_TRUE(walk.ok()) << walk.status();
  EXPECT_EQ(walk->unreadable, 5u);
  EXPECT_FALSE(walk->incomplete);
  EXPECT_THAT(Qualnames(), ElementsAre("good"));
}

TEST_P(HeapWalkTest, ConstantsThatAreNoTuple) {
  const RemoteAddr code = python.NewCode({.name = "f"});
  python.memory().Put(code + python.layout().code.co_consts, uint64_t{0x7000'0000'0000});
  python.NewFunction(code);
  const auto walk = Walk();
  EXPECT_EQ(walk->unreadable, 1u);
  EXPECT_THAT(Qualnames(), ElementsAre("f")) << "the code itself is sound";
}

TEST_P(HeapWalkTest, CodeThatHoldsItself) {
  const RemoteAddr code = python.NewCode({.name = "f", .consts = {RemoteAddr{}}});
  const RemoteAddr consts = *python.memory().ReadPointer(code + python.layout().code.co_consts);
  python.memory().Put(consts + python.layout().tuple.items, code);
  python.NewFunction(code);
  EXPECT_THAT(Walk()->codes, SizeIs(1));
}

TEST_P(HeapWalkTest, NestingDeeperThanAnyCompilers) {
  RemoteAddr code = python.NewCode({.name = "x", .qualname = "x"});
  for (int i = 0; i < 5000; ++i) code = python.NewCode({.name = "x", .consts = {code}});
  python.NewFunction(code, "x");
  const auto walk = Walk();
  ASSERT_TRUE(walk.ok()) << walk.status();
  EXPECT_GE(walk->codes.size(), 50u);
  EXPECT_LE(walk->codes.size(), 52u);
}

TEST_P(HeapWalkTest, AListThatLeadsNowhere) {
  python.NewFunction(python.NewCode({.name = "good"}), "good", "mod", 1);
  for (const uint64_t next : {uint64_t{0}, uint64_t{64}, uint64_t{1} << 50}) {
    python.memory().Put(python.GenerationHead(0), next);
    ExpectIncomplete("a list of the garbage collector is broken");
  }
  python.memory().Put(python.GenerationHead(0), uint64_t{0x7000'0000'0000});
  ExpectIncomplete("not mapped");
}

TEST_P(HeapWalkTest, WhatCameBeforeTheBreakIsKept) {
  python.NewFunction(python.NewCode({.name = "good"}), "good");
  const RemoteAddr last = python.NewFunction(python.NewCode({.name = "last"}), "last");
  python.memory().Put(last + -kGcHeadSize, uint64_t{16});
  ExpectIncomplete("broken");
  EXPECT_THAT(Qualnames(), ElementsAre("good", "last"));
}

TEST_P(HeapWalkTest, WhatIsOnOtherListsIsFoundDespiteTheBreak) {
  python.memory().Put(python.GenerationHead(0), uint64_t{16});
  python.NewFunction(python.NewCode({.name = "old"}), "old", "mod", 2);
  ExpectIncomplete("broken");
  EXPECT_THAT(Qualnames(), ElementsAre("old"));
}

// A stop can fall between the stores that append an object, after each of them.
TEST_P(HeapWalkTest, AnObjectThatIsBeingTracked) {
  for (const bool alone : {true, false}) {
    FakePython half_way(GetParam());
    if (!alone) half_way.NewFunction(half_way.NewCode({.name = "first"}), "first");
    half_way.NewFunction(half_way.NewCode({.name = "old"}), "old", "mod", 2);
    const RemoteAddr head = half_way.GenerationHead(0);
    const RemoteAddr tail = *half_way.memory().ReadPointer(head + 8);
    const RemoteAddr links =
        half_way.NewFunction(half_way.NewCode({.name = "new"}), "new") + -kGcHeadSize;
    half_way.memory().Put(links, uint64_t{0});
    for (const RemoteAddr back : {links, tail}) {
      half_way.memory().Put(head + 8, back);
      const auto walk = WalkHeap(half_way.memory(), half_way.interpreter(), kNoDeadline);
      ASSERT_TRUE(walk.ok()) << walk.status();
      EXPECT_FALSE(walk->incomplete) << walk->incomplete_why;
      EXPECT_THAT(walk->codes, SizeIs(alone ? 2 : 3));
    }
  }
}

// The same in the middle of a list is a break.
TEST_P(HeapWalkTest, AMissingLinkBeforeTheTail) {
  const RemoteAddr first = python.NewFunction(python.NewCode({.name = "first"}), "first");
  for (int i = 0; i < 2; ++i) python.NewFunction(python.NewCode({}));
  python.memory().Put(first + -kGcHeadSize, uint64_t{0});
  ExpectIncomplete("broken");
}

TEST_P(HeapWalkTest, FlagsInTheLinksAreNoPartOfTheAddress) {
  const RemoteAddr one = python.NewFunction(python.NewCode({.name = "one"}), "one");
  python.NewFunction(python.NewCode({.name = "two"}), "two");
  const RemoteAddr links = one + -kGcHeadSize;
  python.memory().Put(links, *python.memory().ReadPointer(links) + 1);
  EXPECT_THAT(Qualnames(), ElementsAre("one", "two"));
}

TEST_P(HeapWalkTest, AListThatTurnsInACircleIsToldAsBroken) {
  const RemoteAddr function = python.NewFunction(python.NewCode({}));
  python.memory().Put(function + -kGcHeadSize, function + -kGcHeadSize);
  const auto walk = Walk();
  ASSERT_TRUE(walk.ok()) << walk.status();
  EXPECT_TRUE(walk->incomplete);
  EXPECT_THAT(walk->incomplete_why, HasSubstr("is broken"));
  EXPECT_THAT(walk->codes, SizeIs(1));
}

TEST_P(HeapWalkTest, TheDeadlineHoldsOnASmallHeapToo) {
  for (int i = 0; i < 3; ++i) python.NewFunction(python.NewCode({}));
  const auto walk = Walk(/*deadline_ns=*/1);
  ASSERT_TRUE(walk.ok()) << walk.status();
  EXPECT_TRUE(walk->incomplete);
  EXPECT_THAT(walk->incomplete_why, HasSubstr("--max-stop"));
}

// Memory that looks like ever more code objects: each holds the next ones.
TEST_P(HeapWalkTest, TheDeadlineHoldsInsideOneFunctionsConstants) {
  std::vector<RemoteAddr> children;
  for (int i = 0; i < 2000; ++i) children.push_back(python.NewCode({}));
  python.NewFunction(python.NewCode({.consts = children}));
  const uint64_t before = python.memory().reads();
  const auto walk = Walk(/*deadline_ns=*/1);
  ASSERT_TRUE(walk.ok()) << walk.status();
  EXPECT_TRUE(walk->incomplete);
  EXPECT_LE(python.memory().reads() - before, 200u);
}

TEST_P(HeapWalkTest, TheDeadlineHoldsInsideSysModules) {
  FakePython::Items modules;
  for (int i = 0; i < 2000; ++i)
    modules.emplace_back(python.NewStr("m"), python.NewModule("m", "/m.py"));
  python.SetModules(python.NewDict(modules, {.log2_size = 12}));
  const uint64_t before = python.memory().reads();
  const auto walk = Walk(/*deadline_ns=*/1);
  ASSERT_TRUE(walk.ok()) << walk.status();
  EXPECT_TRUE(walk->incomplete);
  EXPECT_LE(python.memory().reads() - before, 200u);
}

// 64 KiB of name in the process, shared by many code objects, must not become 64 KiB here for each.
TEST(HeapWalkNamesTest, NamesHaveABudget) {
  FakePython python(12);
  const RemoteAddr code = python.NewCode({.filename = std::string(kMaxUnicodeLength, 'n')});
  std::vector<std::byte> bytes(static_cast<size_t>(python.layout().code.size));
  ASSERT_TRUE(python.memory().Read(code, bytes).ok());
  std::vector<RemoteAddr> children;
  for (uint64_t i = 0; i < HeapWalk::kMaxNameBytes / kMaxUnicodeLength + 100; ++i) {
    children.push_back(python.Allocate(bytes.size()));
    python.memory().PutBytes(children.back(), bytes);
  }
  python.NewFunction(python.NewCode({.consts = children}));
  const auto walk = WalkHeap(python.memory(), python.interpreter(), kNoDeadline);
  ASSERT_TRUE(walk.ok()) << walk.status();
  EXPECT_TRUE(walk->incomplete);
  EXPECT_THAT(walk->incomplete_why, HasSubstr("names"));
  EXPECT_LT(walk->codes.size(), children.size());
}

}  // namespace
}  // namespace sbump
