#include "client/summary.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/samples.h"

namespace sbump {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SessionModel After(std::vector<v1::SessionUpdate> updates) {
  SessionModel model;
  for (const v1::SessionUpdate& update : updates) model.Apply(update);
  return model;
}

TEST(Summary, TellsAllOfIt) {
  const SessionModel model = After({test::Active(0, 0), test::Ended(10, 10'000, "duration over")});
  EXPECT_THAT(
      SummaryLines(model, Palette(false)),
      ElementsAre(
          "Session s-1  pid 4242  python 3.11.7  armed: RESUME",
          "ended: duration over; delay 10us a call",  //
          "", "QUALNAME     WHERE           CALLS/S   CALLS  DELAYED  INJECTED  OVER P50  OVER P99",
          "Engine.step  /srv/app.py:12    1.01k  10,000   10,000     100ms     120ns    4.50us",
          "",  //
          "PATTERN        STATUS    TARGETS   CALLS  DELAYED  INJECTED",
          "*:Engine.step  MATCHED         1  10,000   10,000     100ms",
          "*:engine.stop  NO MATCH        0       0        0         0",
          "    did you mean /srv/app.py:Engine.stop? (differs in case only)",  //
          "",
          "times: attached in 120ms, active for 9.91s, detached in 90.0ms; the process was stopped "
          "1 time, 12.3ms in all, 12.3ms the longest",
          "detach proof: 0 links left, 0 fields left, 0 text bytes changed (verified)"));
}

TEST(Summary, SaysWhenItProvesNothing) {
  v1::SessionUpdate end = test::Ended(2, 0, "detached");
  end.mutable_end()->set_no_hits(true);
  end.set_inexact(true);
  v1::Skipped* skipped = end.add_skipped();
  skipped->set_reason("verdict map full");
  skipped->set_count(1'200);
  end.mutable_targets(0)->set_missed_calls(3);
  const auto lines = SummaryLines(After({end}), Palette(false));
  EXPECT_THAT(lines, Contains(HasSubstr("NO CALLS: no target was called")));
  EXPECT_THAT(lines, Contains(HasSubstr("INEXACT")));
  EXPECT_THAT(lines, Contains("skipped: 1,200  verdict map full"));
  EXPECT_THAT(lines, Contains(HasSubstr("MISSED")));
}

TEST(Summary, AReasonWithoutASuggestionAsksNothing) {
  v1::SessionUpdate end = test::Ended(2, 0, "detached");
  v1::NearMiss* miss = end.mutable_patterns(1)->mutable_near_misses(0);
  miss->clear_suggestion();
  miss->set_reason("no loaded file matches */app/*: not imported yet?");
  const auto lines = SummaryLines(After({end}), Palette(false));
  EXPECT_THAT(lines, Contains("    no loaded file matches */app/*: not imported yet?"));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("did you mean"))));
}

TEST(Summary, OfAnAttachThatWasRefusedIsEmpty) {
  EXPECT_THAT(SummaryLines(After({test::Attaching()}), Palette(false)), ::testing::IsEmpty());
}

TEST(Summary, WithoutAnEndSaysSo) {
  const auto lines = SummaryLines(After({test::Active(16, 16'000)}), Palette(false));
  EXPECT_THAT(lines, Contains(HasSubstr("the end was not seen")));
  EXPECT_THAT(lines, Contains(HasSubstr(", active for 16.0s; ")));
  EXPECT_THAT(lines, Contains(HasSubstr("/srv/app.py:12    1.00k  16,000")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("detach proof"))));
}

TEST(Summary, NamesFromTheTargetCannotDriveTheTerminal) {
  v1::SessionUpdate end = test::Ended(2, 1, "detached\x1b[2J");
  end.mutable_targets(0)->set_qualname("f\x1b]0;x\x07");
  end.mutable_targets(0)->set_filename("\n/x.py");
  end.mutable_patterns(1)->mutable_near_misses(0)->set_suggestion("\x1b[H");
  end.add_warnings("\x1b[1m");
  for (const std::string& line : SummaryLines(After({end}), Palette(false))) {
    EXPECT_EQ(line.find_first_of("\x1b\x07\n"), line.npos) << line;
  }
}

TEST(Heading, IsOneLine) {
  EXPECT_EQ(HeadingLine(After({test::Active(1, 5)}), Palette(false)),
            "ACTIVE  pid 4242  python 3.11.7  armed: RESUME  session s-1: 1 target, delay 10us a "
            "call");
}

}  // namespace
}  // namespace sbump
