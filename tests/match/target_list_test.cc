#include "daemon/match/target_list.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TargetList List(std::vector<std::string> patterns, std::vector<std::string> excludes = {},
                bool paths_only = false) {
  std::vector<Pattern> parsed, out;
  for (const std::string& line : patterns) parsed.push_back(*ParsePattern(line));
  for (const std::string& line : excludes) out.push_back(*ParseExclude(line));
  return TargetList(std::move(parsed), std::move(out), paths_only);
}

const std::vector<std::string> kNames = {"pkg.mod"};
const CodeName kCode{"/lib/pkg/mod.py", kNames, "A.run"};

TEST(TargetListTest, TheFirstOwnsTheRowAndAllCount) {
  const TargetList list = List({"*:B.*", "*:A.*", "*:*", "*:A.run @delay=1us"});
  EXPECT_EQ(list.FirstMatch(kCode), 1u);
  EXPECT_THAT(list.AllMatches(kCode), ElementsAre(1, 2, 3));
}

TEST(TargetListTest, NothingMatches) {
  EXPECT_EQ(List({"*:B.*"}).FirstMatch(kCode), std::nullopt);
  EXPECT_EQ(List({}).FirstMatch(kCode), std::nullopt);
  EXPECT_THAT(List({"*:B.*"}).AllMatches(kCode), IsEmpty());
}

TEST(TargetListTest, ExcludesSubtract) {
  const TargetList list = List({"*:*"}, {"*/other/*:*", "pkg.mod:*.run"});
  EXPECT_TRUE(list.Excluded(kCode));
  EXPECT_EQ(list.FirstMatch(kCode), std::nullopt);
  EXPECT_THAT(list.AllMatches(kCode), IsEmpty());
  EXPECT_EQ(list.FirstMatch({"/lib/pkg/mod.py", kNames, "A.stop"}), 0u);
}

TEST(TargetListTest, ExemptPatternsAreNotExcluded) {
  std::vector<Pattern> patterns, excludes = {*ParseExclude("*:A.*")};
  for (const char* line : {"*:A.*", "*:B.*", "*:A.run", "*:*.run"})
    patterns.push_back(*ParsePattern(line));
  patterns[1].is_exempt = patterns[2].is_exempt = true;
  const TargetList list(std::move(patterns), std::move(excludes), false);
  EXPECT_EQ(list.FirstMatch(kCode), 2u);
  EXPECT_THAT(list.AllMatches(kCode), ElementsAre(2));
  EXPECT_EQ(list.FirstMatch({"/lib/pkg/mod.py", kNames, "A.stop"}), std::nullopt);
}

TEST(TargetListTest, PathsOnlyHoldsForBoth) {
  EXPECT_EQ(List({"pkg.mod:*"}).FirstMatch(kCode), 0u);
  EXPECT_EQ(List({"pkg.mod:*"}, {}, true).FirstMatch(kCode), std::nullopt);
  EXPECT_EQ(List({"*:*"}, {"pkg.mod:*"}, true).FirstMatch(kCode), 0u);
}

}  // namespace
}  // namespace sbump
