#include "client/experiment/ranking_view.h"

#include "client/printable.h"
#include "client/text_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::GroupResult Group(const std::string& name, v1::Verdict verdict, double criticality) {
  v1::GroupResult group;
  group.set_name(name);
  group.set_verdict(verdict);
  group.set_criticality(criticality);
  group.set_ci_low(criticality - 0.05);
  group.set_ci_high(criticality + 0.05);
  group.set_hits_per_unit(2);
  group.set_most_gain_per_ns(2 * criticality);
  return group;
}

v1::Ranking Made() {
  v1::Ranking ranking;
  *ranking.add_results() = Group("part", v1::MATTERS, 0.9);
  *ranking.add_results() = Group("later", v1::UNDECIDED, 0.06);
  ranking.mutable_results(1)->set_why("on both sides of the margin");
  v1::OpenedGroup& opened = *ranking.add_opened();
  *opened.mutable_group() = Group("whole", v1::MATTERS, 0.8);
  opened.add_parts("part");
  opened.add_parts("other");
  opened.set_words("the parts come to as much: they add up");
  *ranking.mutable_confirmed() = Group("part", v1::MATTERS, 0.87);
  ranking.add_warnings("a window \x1b was flawed");
  return ranking;
}

std::string Lines(const v1::Ranking& ranking) {
  std::string text;
  for (const std::string& line : RankingLines(ranking, Palette(false), kUnlimitedWidth))
    text += line + "\n";
  return text;
}

TEST(RankingLines, SayItAll) {
  EXPECT_EQ(
      Lines(Made()),
      "GROUP  VERDICT    CRITICALITY  95% INTERVAL  CALLS/UNIT  GAIN AT MOST\n"
      "part   MATTERS           0.90  [0.85, 0.95]        2.00         1.80x\n"
      "later  undecided         0.06  [0.01, 0.11]        2.00         0.12x\n"
      "undecided: 1 group, with intervals on both sides of the margin: more time, a greater dose "
      "(--top-share) or a wider --margin decides more\n"
      "gain at most: that much or less; of two tied branches neither gains anything alone\n"
      "whole: MATTERS, 0.80 [0.75, 0.85], opened:\n"
      "  its parts: part, other\n"
      "  the parts come to as much: they add up\n"
      "confirmation of part, alone and with a fresh seed: MATTERS, 0.87 [0.82, 0.92]: "
      "the number to quote\n"
      "warning: a window \\x1b was flawed\n");
}

// More time or greater doses would not decide those.
TEST(RankingLines, SayWhoseWindowsWereLost) {
  v1::Ranking ranking = Made();
  v1::GroupResult& later = *ranking.mutable_results(1);
  later.set_lost_windows(true);
  later.set_why("windows were lost by its delay");
  later.add_warnings("8 of the 30 windows");
  const std::string text = Lines(ranking);
  EXPECT_THAT(text, HasSubstr("later: windows were lost by its delay\n"
                              "warning: later: 8 of the 30 windows\n"));
  EXPECT_THAT(text, Not(HasSubstr("undecided: 1 group")));
}

TEST(RankingLines, SayWhatIsWrongFirst) {
  v1::Ranking ranking = Made();
  ranking.set_invalid("the control failed");
  ranking.set_partial(true);
  const std::vector<std::string> lines = RankingLines(ranking, Palette(false), 80);
  EXPECT_EQ(lines[0], "INVALID: the control failed");
  EXPECT_THAT(lines[1], HasSubstr("it ended early"));
}

TEST(RankingLines, AConfirmationThatSaysNothingIsNoNumber) {
  v1::Ranking ranking = Made();
  ranking.mutable_confirmed()->set_verdict(v1::INVALID);
  ranking.mutable_confirmed()->set_why("it was not called");
  EXPECT_THAT(Lines(ranking), HasSubstr("confirmation of part: it was not called\n"));
  EXPECT_THAT(Lines(ranking), Not(HasSubstr("quote")));
}

TEST(RankingLines, NamesAreClippedToTheWidth) {
  v1::Ranking ranking;
  *ranking.add_results() = Group(std::string(300, 'x'), v1::MATTERS, 1);
  for (const std::string& line : RankingLines(ranking, Palette(false), 90))
    EXPECT_LE(DisplayWidth(line), 90u);
}

}  // namespace
}  // namespace sbump
