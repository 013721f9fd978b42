#include "daemon/session/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::shared_ptr<const TargetList> Targets(const std::vector<std::string>& patterns,
                                          const std::vector<std::string>& excludes = {}) {
  std::vector<Pattern> parsed, out;
  for (const std::string& line : patterns) parsed.push_back(*ParsePattern(line));
  for (const std::string& line : excludes) out.push_back(*ParseExclude(line));
  return std::make_shared<const TargetList>(std::move(parsed), std::move(out), false);
}

CodeObject Code(uint64_t addr, std::string qualname, std::string filename = "/app/m.py",
                uint32_t line = 1) {
  CodeObject code;
  code.head.addr = {addr};
  code.head.first_line = line;
  code.head.fingerprint = line;
  code.filename = std::move(filename);
  code.qualname = std::move(qualname);
  code.qualname_source = QualnameSource::kCoQualname;
  return code;
}

CodeObject Guessed(uint64_t addr, std::string co_name) {
  CodeObject code = Code(addr, std::move(co_name));
  code.qualname_source = QualnameSource::kCoName;
  return code;
}

TEST(InventoryTest, OnlyWhatAPatternTakesHasARow) {
  Inventory inventory(Targets({"*:Engine.*"}));
  EXPECT_EQ(inventory.Learn(Code(0x1000, "Engine.step"), {}).row, 0u);
  EXPECT_EQ(inventory.Learn(Code(0x2000, "Other.step"), {}).row, kNoRow);
  ASSERT_THAT(inventory.rows(), SizeIs(1));
  EXPECT_EQ(inventory.rows()[0]->qualname, "Engine.step");
  EXPECT_EQ(inventory.rows()[0]->filename, "/app/m.py");
  EXPECT_EQ(inventory.rows()[0]->qualname_source, "co_qualname");
  EXPECT_EQ(inventory.Find({0x2000})->qualname, "Other.step");
  EXPECT_EQ(inventory.Find({0x3000}), nullptr);
}

TEST(InventoryTest, SameFileNameAndLineAreOneRow) {
  Inventory inventory(Targets({"*:f"}));
  EXPECT_EQ(inventory.Learn(Code(0x1000, "f"), {}).row, 0u);
  EXPECT_EQ(inventory.Learn(Code(0x2000, "f"), {}).row, 0u);
  EXPECT_EQ(inventory.Learn(Code(0x3000, "f", "/app/m.py", 2), {}).row, 1u) << "another line";
  EXPECT_EQ(inventory.Learn(Code(0x4000, "f", "/app/n.py"), {}).row, 2u) << "another file";
  EXPECT_EQ(inventory.live_code_objects(0), 2u);
  EXPECT_EQ(inventory.rows_matched_by(0), 3u);
}

TEST(InventoryTest, NamesThatRunTogetherAreNotOneRow) {
  Inventory inventory(Targets({"*:*"}));
  EXPECT_EQ(inventory.Learn(Code(0x1000, "bc", "a"), {}).row, 0u);
  EXPECT_EQ(inventory.Learn(Code(0x2000, "c", "ab"), {}).row, 1u);
  EXPECT_EQ(inventory.Learn(Code(0x3000, "f1", "a", 2), {}).row, 2u);
  EXPECT_EQ(inventory.Learn(Code(0x4000, "f", "a", 12), {}).row, 3u);
}

TEST(InventoryTest, ADeadCodeObjectLeavesItsRow) {
  Inventory inventory(Targets({"*:f"}));
  inventory.Learn(Code(0x1000, "f"), {});
  inventory.Forget({0x1000});
  inventory.Forget({0x1000});
  inventory.Forget({0x9000});
  EXPECT_EQ(inventory.Find({0x1000}), nullptr);
  EXPECT_EQ(inventory.live_code_objects(0), 0u);
  EXPECT_THAT(inventory.rows(), SizeIs(1)) << "its counters are still wanted";
  EXPECT_EQ(inventory.Learn(Code(0x5000, "f"), {}).row, 0u) << "born again";
}

TEST(InventoryTest, AnAddressThatIsUsedAgain) {
  Inventory inventory(Targets({"*:f", "*:g"}));
  inventory.Learn(Code(0x1000, "f"), {}).armed = {ArmedField{.code = {0x1000}}};
  const KnownCode& known = inventory.Learn(Code(0x1000, "g", "/app/m.py", 9), {});
  EXPECT_EQ(known.row, 1u);
  EXPECT_TRUE(known.armed.empty()) << "another object: nothing was written into it";
  EXPECT_EQ(inventory.live_code_objects(0), 0u);
  EXPECT_EQ(inventory.live_code_objects(1), 1u);
}

TEST(InventoryTest, TheSameObjectSeenAgainIsStillArmed) {
  Inventory inventory(Targets({"*:f"}));
  inventory.Learn(Code(0x1000, "f"), {}).armed = {ArmedField{.code = {0x1000}}};
  EXPECT_THAT(inventory.Learn(Code(0x1000, "f"), {}).armed, SizeIs(1));
  EXPECT_EQ(inventory.live_code_objects(0), 1u) << "counted once";
}

TEST(InventoryTest, TheFirstPatternOwnsTheRowAndAllCount) {
  Inventory inventory(Targets({"*:none", "*:Engine.*", "*:*.step"}));
  inventory.Learn(Code(0x1000, "Engine.step"), {});
  inventory.Learn(Code(0x2000, "Worker.step"), {});
  EXPECT_EQ(inventory.rows()[0]->pattern, 1u);
  EXPECT_EQ(inventory.rows()[1]->pattern, 2u);
  EXPECT_EQ(inventory.rows_matched_by(0), 0u);
  EXPECT_EQ(inventory.rows_matched_by(1), 1u);
  EXPECT_EQ(inventory.rows_matched_by(2), 2u);
}

TEST(InventoryTest, ExcludesSubtract) {
  Inventory inventory(Targets({"*:*"}, {"*/tests/*:*", "*:*.close"}));
  EXPECT_EQ(inventory.Learn(Code(0x1000, "f", "/app/tests/t.py"), {}).row, kNoRow);
  EXPECT_EQ(inventory.Learn(Code(0x2000, "File.close"), {}).row, kNoRow);
  EXPECT_NE(inventory.Learn(Code(0x3000, "File.open"), {}).row, kNoRow);
  EXPECT_EQ(inventory.rows_matched_by(0), 1u);
}

TEST(InventoryTest, DottedNamesMatchAndAreKept) {
  Inventory inventory(Targets({"pkg.mod:f"}));
  EXPECT_EQ(inventory.Learn(Code(0x1000, "f"), {}).row, kNoRow);
  EXPECT_EQ(inventory.Learn(Code(0x2000, "f"), {"alias", "pkg.mod"}).row, 0u);
  EXPECT_THAT(inventory.rows()[0]->module_names, ElementsAre("alias", "pkg.mod"));
}

TEST(InventoryTest, WhatBlocksACodeObjectIsSaidOfItsRow) {
  Inventory inventory(Targets({"*:f"}));
  KnownCode& known = inventory.Learn(Code(0x1000, "f"), {});
  inventory.SetBlocked(known, "blocked by a tool");
  EXPECT_TRUE(known.is_blocked);
  EXPECT_EQ(inventory.blocked(0), "blocked by a tool");
  inventory.SetBlocked(known, "");
  EXPECT_FALSE(known.is_blocked);
  EXPECT_EQ(inventory.blocked(0), "");
}

// What a process makes while it runs is its own choice.
TEST(InventoryTest, RoomForWhatLives) {
  Inventory inventory(Targets({"*:nothing"}));
  uint64_t count = 0;
  for (; inventory.HasRoom(); ++count) {
    inventory.Learn(Code(0x1000 * count, "f", std::string(64 << 10, 'x') + std::to_string(count)),
                    {});
  }
  EXPECT_LE(count, Inventory::kMaxBytes >> 16);
  EXPECT_GT(count, Inventory::kMaxBytes >> 17);
  for (uint64_t i = 0; i < count; ++i) inventory.Forget({0x1000 * i});
  EXPECT_TRUE(inventory.HasRoom());
  for (uint64_t i = 0; i < 4 * count; ++i) {
    inventory.Learn(Code(0x1000, "f", std::string(64 << 10, 'x') + std::to_string(i)), {});
    ASSERT_TRUE(inventory.HasRoom()) << "one address, again and again";
  }
}

TEST(InventoryTest, RoomForRowsThatStay) {
  Inventory inventory(Targets({"*:*"}));
  for (uint32_t line = 0; inventory.HasRoom(); ++line) {
    ASSERT_LT(line, Inventory::kMaxBytes >> 16);
    inventory.Learn(Code(0x1000, std::string(64 << 10, 'f'), "/app/m.py", line), {});
  }
  inventory.Forget({0x1000});
  EXPECT_FALSE(inventory.HasRoom());
}

// A file may be known by many long names, and each row carries them.
TEST(InventoryTest, RoomForRowsWithManyModuleNames) {
  Inventory inventory(Targets({"*:*"}));
  const std::vector<std::string> module_names(64, std::string(1024, 'm'));
  for (uint32_t line = 0; line < 2 * (Inventory::kMaxBytes >> 16); ++line)
    inventory.Learn(Code(0x1000 * (1 + line), "f", "/app/m.py", line), module_names);
  EXPECT_LE(inventory.rows().size(), Inventory::kMaxBytes >> 16);
  EXPECT_GT(inventory.without_row(), 0U);
}

TEST(InventoryTest, NamesForNearMisses) {
  Inventory inventory(Targets({"*:f"}));
  const KnownCode& known = inventory.Learn(Code(0x1000, "x"), {});
  EXPECT_THAT(inventory.NameOf(known).module_names, IsEmpty());
  inventory.modules().Add("/app/m.py", "pkg.mod");
  const CodeName name = inventory.NameOf(known);
  EXPECT_EQ(name.filename, "/app/m.py");
  EXPECT_EQ(name.qualname, "x");
  EXPECT_THAT(name.module_names, ElementsAre("pkg.mod"));
}

// ---- New targets in a running session ----

TEST(ChangeTargetsTest, CodeIsJudgedAnew) {
  Inventory inventory(Targets({"*:f"}));
  inventory.Learn(Code(0x1000, "f"), {});
  inventory.Learn(Code(0x2000, "g"), {});
  inventory.ChangeTargets(Targets({"*:g"}));
  EXPECT_EQ(inventory.Find({0x1000})->row, kNoRow);
  EXPECT_EQ(inventory.Find({0x2000})->row, 1u);
  EXPECT_EQ(inventory.live_code_objects(0), 0u);
  EXPECT_EQ(inventory.rows_matched_by(0), 1u);
  EXPECT_EQ(inventory.rows()[1]->qualname, "g");
}

// Else its calls would be another pattern's, and its dose another's too.
TEST(ChangeTargetsTest, ARowThatNoPatternTakesHasNoPattern) {
  Inventory inventory(Targets({"*:none", "*:f"}));
  inventory.Learn(Code(0x1000, "f"), {});
  inventory.ChangeTargets(Targets({"*:g"}));
  EXPECT_EQ(inventory.rows()[0]->pattern, kNoPattern);
  const TargetRules rules{.targets = Targets({"*:g"}), .dose = {.delay_ns = 1000}};
  EXPECT_EQ(rules.DoseOf(inventory.rows()[0]->pattern).delay_ns, 0u);
}

TEST(ChangeTargetsTest, AnotherOwnerForAnOldRow) {
  Inventory inventory(Targets({"*:f"}));
  inventory.Learn(Code(0x1000, "f"), {});
  inventory.ChangeTargets(Targets({"*:none", "*/m.py:*", "*:f"}));
  EXPECT_EQ(inventory.rows()[0]->pattern, 1u);
  EXPECT_THAT(inventory.rows()[0]->matches, ElementsAre(1, 2));
  EXPECT_EQ(inventory.live_code_objects(0), 1u);
  EXPECT_EQ(inventory.rows_matched_by(1), 1u);
  EXPECT_EQ(inventory.rows_matched_by(2), 1u);
}

TEST(ChangeTargetsTest, ThereAndBack) {
  Inventory inventory(Targets({"*:f"}));
  inventory.Learn(Code(0x1000, "f"), {});
  inventory.ChangeTargets(Targets({"*:g"}));
  inventory.ChangeTargets(Targets({"*:f"}));
  EXPECT_EQ(inventory.Find({0x1000})->row, 0u) << "the same row: its counters go on";
  EXPECT_EQ(inventory.rows()[0]->pattern, 0u);
  EXPECT_EQ(inventory.live_code_objects(0), 1u);
  EXPECT_EQ(inventory.rows_matched_by(0), 1u);
}

TEST(ChangeTargetsTest, TheDeadStillCount) {
  Inventory inventory(Targets({"*:f"}));
  inventory.Learn(Code(0x1000, "f"), {});
  inventory.Forget({0x1000});
  inventory.ChangeTargets(Targets({"*:f*"}));
  EXPECT_EQ(inventory.rows_matched_by(0), 1u);
}

// ---- Names that had to be guessed ----

TEST(AmbiguousTest, AGuessThatMatchesAndOneThatMight) {
  Inventory inventory(Targets({"*:run", "*:Engine.run", "*:Engine.stop", "*:*", "/other/*:run"}));
  inventory.Learn(Guessed(0x1000, "run"), {});
  EXPECT_TRUE(inventory.ambiguous(0)) << "it may be a method that is not meant";
  EXPECT_TRUE(inventory.ambiguous(1)) << "it may be the one that is meant";
  EXPECT_FALSE(inventory.ambiguous(2));
  EXPECT_FALSE(inventory.ambiguous(3)) << "takes it whatever it is called";
  EXPECT_FALSE(inventory.ambiguous(4)) << "in another file";
}

TEST(AmbiguousTest, OverridesAndSpacesAreNoPartOfTheName) {
  Inventory inventory(Targets({"*:Engine.run @delay=1us", "/app/*:A.run @every=2", "*/m p*:x",
                               "/ap[ p]/m.py:Engine.run @delay=1us"}));
  inventory.Learn(Guessed(0x1000, "run"), {});
  EXPECT_TRUE(inventory.ambiguous(0));
  EXPECT_TRUE(inventory.ambiguous(1));
  EXPECT_FALSE(inventory.ambiguous(2));
  EXPECT_TRUE(inventory.ambiguous(3));
}

TEST(AmbiguousTest, APartOfAWordIsNoLastPart) {
  Inventory inventory(Targets({"*:Engine.rerun"}));
  inventory.Learn(Guessed(0x1000, "run"), {});
  EXPECT_FALSE(inventory.ambiguous(0));
}

TEST(AmbiguousTest, AKnownNameIsNone) {
  Inventory inventory(Targets({"*:run"}));
  inventory.Learn(Code(0x1000, "run"), {});
  EXPECT_FALSE(inventory.ambiguous(0));
}

TEST(AmbiguousTest, NewTargetsStartAnew) {
  Inventory inventory(Targets({"*:run"}));
  inventory.Learn(Guessed(0x1000, "run"), {});
  inventory.ChangeTargets(Targets({"*:walk"}));
  EXPECT_FALSE(inventory.ambiguous(0));
  inventory.ChangeTargets(Targets({"*:run"}));
  EXPECT_TRUE(inventory.ambiguous(0));
}

}  // namespace
}  // namespace sbump
