#include "daemon/session/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/stats/histogram.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Snapshot ProcessOf(int pid, uint64_t rows, uint64_t calls) {
  Snapshot process;
  process.state = SessionState::kActive;
  process.process.pid = pid;
  process.delay_ns = 20'000;
  process.patterns = {{.pattern = "*:step",
                       .status = calls != 0  ? PatternStatus::kMatched
                                 : rows != 0 ? PatternStatus::kNoCalls
                                             : PatternStatus::kNoMatch,
                       .rows = rows,
                       .calls = calls,
                       .total = {.calls = calls, .delayed_calls = calls}}};
  return process;
}

SessionSnapshot Merged(const std::vector<Snapshot>& processes) {
  SessionSnapshot merged;
  for (const Snapshot& process : processes)
    merged.processes.push_back(std::make_shared<const Snapshot>(process));
  MergeProcesses(merged);
  return merged;
}

Snapshot Ended(Snapshot process, DetachProof proof, bool failed = false) {
  process.state = SessionState::kEnded;
  SessionEnd end{.reason = "target exited", .proof = std::move(proof), .failed = failed};
  end.no_hits = process.patterns[0].calls == 0;
  end.no_match = process.patterns[0].rows == 0;
  process.end = std::make_shared<const SessionEnd>(std::move(end));
  return process;
}

TEST(MergeProcessesTest, PatternsAreSums) {
  const SessionSnapshot merged = Merged({ProcessOf(1, 2, 10), ProcessOf(2, 1, 5)});
  ASSERT_THAT(merged.patterns, SizeIs(1));
  EXPECT_EQ(merged.patterns[0].rows, 3u);
  EXPECT_EQ(merged.patterns[0].total.calls, 15u);
  EXPECT_EQ(merged.patterns[0].status, PatternStatus::kMatched);
  EXPECT_EQ(merged.delay_ns, 20'000u);
}

TEST(MergeProcessesTest, APatternThatMatchedAnywhereMatched) {
  EXPECT_EQ(Merged({ProcessOf(1, 0, 0), ProcessOf(2, 1, 5)}).patterns[0].status,
            PatternStatus::kMatched);
  EXPECT_EQ(Merged({ProcessOf(1, 0, 0), ProcessOf(2, 1, 0)}).patterns[0].status,
            PatternStatus::kNoCalls);
  EXPECT_EQ(Merged({ProcessOf(1, 0, 0), ProcessOf(2, 0, 0)}).patterns[0].status,
            PatternStatus::kNoMatch);
}

TEST(MergeProcessesTest, WhatIsGoneInOneAndThereInAnotherIsThere) {
  Snapshot gone = ProcessOf(1, 0, 7);
  gone.patterns[0].status = PatternStatus::kGone;
  const PatternCounters with_none = Merged({gone, ProcessOf(2, 0, 0)}).patterns[0];
  EXPECT_EQ(with_none.status, PatternStatus::kGone);
  EXPECT_EQ(with_none.calls, 7u);
  EXPECT_EQ(Merged({gone, ProcessOf(2, 1, 5)}).patterns[0].status, PatternStatus::kMatched);
}

TEST(MergeProcessesTest, OvershootIsThatOfAllCallsTogether) {
  Snapshot exact = ProcessOf(1, 1, 100), late = ProcessOf(2, 1, 10);
  OvershootHistogram small, large;
  for (int i = 0; i < 100; ++i) small.Add(10);
  for (int i = 0; i < 10; ++i) large.Add(1'000'000);
  exact.patterns[0].overshoot = std::make_shared<const OvershootHistogram>(small);
  late.patterns[0].overshoot = std::make_shared<const OvershootHistogram>(large);
  const OvershootPercentiles both = Merged({exact, late}).patterns[0].total.overshoot;
  EXPECT_LT(both.p50_ns, 100u);
  EXPECT_GT(both.p99_ns, 500'000u);
}

TEST(MergeProcessesTest, ThoseThatNeverBecameActiveAreAWarning) {
  Snapshot refused = Ended(ProcessOf(2, 0, 0), {}, /*failed=*/true);
  refused.patterns.clear();
  const SessionSnapshot merged = Merged({ProcessOf(1, 1, 5), refused});
  EXPECT_EQ(merged.patterns[0].total.calls, 5u);
  EXPECT_THAT(merged.warnings, ElementsAre("not attached: target exited"));
  EXPECT_THAT(Merged({refused}).warnings, IsEmpty()) << "the error says it";
}

TEST(MergeProcessesTest, WarningsNameTheProcessWhereThereAreSeveral) {
  Snapshot warned = ProcessOf(7, 1, 1);
  warned.warnings = {"the inventory is incomplete"};
  EXPECT_THAT(Merged({warned}).warnings, ElementsAre("the inventory is incomplete"));
  EXPECT_THAT(Merged({warned, ProcessOf(8, 1, 1)}).warnings,
              ElementsAre("pid 7: the inventory is incomplete"));
}

TEST(MergeProcessesTest, OneInexactProcessMakesTheSessionInexact) {
  Snapshot inexact = ProcessOf(2, 1, 1);
  inexact.inexact = true;
  inexact.missed_calls = 3;
  inexact.skipped = {{"busy", 2}};
  Snapshot busy = ProcessOf(3, 1, 1);
  busy.skipped = {{"busy", 5}, {"full", 1}};
  const SessionSnapshot merged = Merged({ProcessOf(1, 1, 1), inexact, busy});
  EXPECT_TRUE(merged.inexact);
  EXPECT_EQ(merged.missed_calls, 3u);
  ASSERT_THAT(merged.skipped, SizeIs(2));
  EXPECT_EQ(merged.skipped[0].count, 7u);
}

TEST(MergeProcessesTest, TimesAreSumsOrThoseOfTheSlowest) {
  Snapshot a = ProcessOf(1, 1, 1), b = ProcessOf(2, 1, 1);
  a.times = {.attach_ns = 10, .stopped_ns = 5, .longest_stop_ns = 5, .stops = 1, .active_ns = 700};
  b.times = {.attach_ns = 30, .stopped_ns = 9, .longest_stop_ns = 7, .stops = 2, .active_ns = 400};
  a.times.holds = 2, b.times.holds = 1;
  const SessionTimes times = Merged({a, b}).times;
  EXPECT_EQ(times.attach_ns, 30u);
  EXPECT_EQ(times.active_ns, 700u);
  EXPECT_EQ(times.stopped_ns, 14u);
  EXPECT_EQ(times.longest_stop_ns, 7u);
  EXPECT_EQ(times.stops, 3u);
  EXPECT_EQ(times.holds, 3u);
}

TEST(InForceTest, APatternThatMatchesInAnyProcessIsNotUnmatched) {
  Snapshot matched = ProcessOf(1, 1, 0), unmatched = ProcessOf(2, 0, 0);
  matched.rows = {std::make_shared<const RowInfo>(RowInfo{.pattern = 0})};
  unmatched.patterns[0].near_misses = {{"/srv/app.py:step", "same name"}};
  RulesInForce sum;
  AddInForce(InForce(unmatched), /*is_first=*/true, sum);
  AddInForce(InForce(unmatched), /*is_first=*/false, sum);
  EXPECT_EQ(sum.rows, 0u);
  ASSERT_THAT(sum.unmatched, SizeIs(1));
  EXPECT_EQ(sum.unmatched[0].near_misses[0].suggestion, "/srv/app.py:step");
  AddInForce(InForce(matched), /*is_first=*/false, sum);
  EXPECT_EQ(sum.rows, 1u);
  EXPECT_THAT(sum.unmatched, IsEmpty());
}

TEST(MergeEndsTest, MeasuredUntilTheLastBeganToEnd) {
  Snapshot early = Ended(ProcessOf(1, 1, 5), {}), late = Ended(ProcessOf(2, 1, 5), {});
  Snapshot refused = Ended(ProcessOf(3, 0, 0), {}, /*failed=*/true);
  early.monotonic_ns = 500, early.times.detach_ns = 400;
  late.monotonic_ns = 460, late.times.detach_ns = 10;
  refused.monotonic_ns = 900;
  EXPECT_EQ(MeasuredUntilNs(Merged({early, late, refused}).processes), 450u);
  EXPECT_EQ(MeasuredUntilNs(Merged({refused}).processes), 0u);
}

TEST(MergeEndsTest, AddsUpWhatIsLeft) {
  const auto processes =
      Merged({Ended(ProcessOf(1, 1, 5), {.fields_left = 2, .verified = true, .detail = "two"}),
              Ended(ProcessOf(2, 0, 0), {.links_left = 1, .verified = true}),
              Ended(ProcessOf(3, 0, 0), {})})
          .processes;
  const SessionEnd end = MergeEnds(processes, "detached");
  EXPECT_EQ(end.reason, "detached");
  EXPECT_EQ(end.proof.fields_left, 2u);
  EXPECT_EQ(end.proof.links_left, 1u);
  EXPECT_TRUE(end.proof.verified);
  EXPECT_EQ(end.proof.detail, "2 processes read back; 1 had ended or called exec");
  EXPECT_FALSE(end.no_hits);
  EXPECT_FALSE(end.no_match);
}

TEST(MergeEndsTest, OneProcessSpeaksForItself) {
  const auto processes =
      Merged({Ended(ProcessOf(1, 0, 0), {.verified = true, .detail = "0 fields"})}).processes;
  const SessionEnd end = MergeEnds(processes, "detached");
  EXPECT_EQ(end.proof.detail, "0 fields");
  EXPECT_TRUE(end.no_match);
}

}  // namespace
}  // namespace sbump
