// What the programs may dismiss without asking: nothing that a pattern could take.
#include "daemon/session/name_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bpf/shared/text.h"

namespace sbump {
namespace {

using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::UnorderedElementsAre;

std::optional<std::vector<uint64_t>> Wanted(const std::vector<std::string>& patterns,
                                            bool last_part_only = false) {
  std::vector<Pattern> parsed;
  for (const std::string& line : patterns) parsed.push_back(*ParsePattern(line));
  return WantedNames(TargetList(std::move(parsed), {}, false), last_part_only);
}

TEST(NameHashTest, NamesThatTheProgramsLeaveToTheDaemon) {
  EXPECT_FALSE(NameHash("").has_value());
  EXPECT_FALSE(NameHash("na\xC3\xAFve").has_value());
  EXPECT_FALSE(NameHash(std::string(SB_TEXT_BYTES + 1, 'x')).has_value());
  EXPECT_TRUE(NameHash(std::string(SB_TEXT_BYTES, 'x')).has_value());
  EXPECT_NE(NameHash("Engine.step"), NameHash("Engine.stop"));
}

TEST(WantedNamesTest, PlainNamesAreAListOfThem) {
  EXPECT_THAT(Wanted({"*:Engine.step", "a:f"}),
              Optional(UnorderedElementsAre(*NameHash("Engine.step"), *NameHash("f"))));
}

TEST(WantedNamesTest, ANameOfManyPatternsIsOne) {
  EXPECT_THAT(Wanted({"*:f", "a:f", "b:g", "b:f"}),
              Optional(UnorderedElementsAre(*NameHash("f"), *NameHash("g"))));
}

TEST(WantedNamesTest, AnyGlobMakesEveryNameWanted) {
  for (const char* pattern : {"*:*", "*:Engine.*", "*:Engine.ste?", "*:Engine.[ab]"})
    EXPECT_EQ(Wanted({"*:f", pattern}), std::nullopt) << pattern;
}

TEST(WantedNamesTest, BeforeCoQualnameOnlyTheLastPartCounts) {
  EXPECT_THAT(Wanted({"*:Engine.step"}, true), Optional(UnorderedElementsAre(*NameHash("step"))));
  EXPECT_THAT(Wanted({"*:*.step"}, true), Optional(UnorderedElementsAre(*NameHash("step"))));
  EXPECT_THAT(Wanted({"*:make.<locals>.inner"}, true),
              Optional(UnorderedElementsAre(*NameHash("inner"))));
  for (const char* pattern : {"*:Engine.*", "*:Engine*step", "*:Engine?step", "*:E.[ab.]step"})
    EXPECT_EQ(Wanted({pattern}, true), std::nullopt) << pattern;
}

TEST(WantedNamesTest, NamesWithoutAHashAlwaysReachTheDaemon) {
  EXPECT_THAT(Wanted({"*:na\xC3\xAFve"}), Optional(IsEmpty()));
}

TEST(KnownOfFileTest, WhatEvalRunsIsNoModule) {
  EXPECT_EQ(KnownOfFile("/lib/a.py", true, false), 0);
  EXPECT_EQ(KnownOfFile("/lib/a.py", false, false), SB_FILE_UNWANTED);
  EXPECT_EQ(KnownOfFile("<string>", true, false), SB_FILE_OF_NO_MODULE);
  EXPECT_EQ(KnownOfFile("<string>", false, false), SB_FILE_UNWANTED | SB_FILE_OF_NO_MODULE);
}

TEST(KnownOfFileTest, BeforeCoQualnameItsCodeTellsNames) {
  EXPECT_EQ(KnownOfFile("<string>", true, true), 0);
  EXPECT_EQ(KnownOfFile("<string>", false, true), SB_FILE_UNWANTED | SB_FILE_OF_NO_MODULE);
}

}  // namespace
}  // namespace sbump
