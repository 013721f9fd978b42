#include "client/session_model.h"

#include "gtest/gtest.h"
#include "tests/client/samples.h"

namespace sbump {
namespace {

using test::Active;
using test::Stats;

TEST(SessionModel, RateIsThatOfTheLastInterval) {
  SessionModel model;
  model.Apply(Active(0, 100));
  EXPECT_EQ(model.TopRows(1)[0]->calls_per_second, 0) << "no interval yet";
  model.Apply(Active(2, 500));
  EXPECT_EQ(model.TopRows(1)[0]->calls_per_second, 200);
}

TEST(SessionModel, RowThatDidNotChangeHasRateZero) {
  SessionModel model;
  model.Apply(Active(0, 100));
  model.Apply(Active(1, 500));
  v1::SessionUpdate quiet = Active(2, 0);
  quiet.clear_targets();
  model.Apply(quiet);
  ASSERT_EQ(model.target_count(), 1u);
  EXPECT_EQ(model.TopRows(1)[0]->stats.calls(), 500u);
  EXPECT_EQ(model.TopRows(1)[0]->calls_per_second, 0);
  EXPECT_TRUE(model.TopRecentRows(9).empty());
}

TEST(SessionModel, SortsByDelayThenCalls) {
  SessionModel model;
  v1::SessionUpdate update = Active(0, 0);
  update.clear_targets();
  *update.add_targets() = Stats("few", 1, 0);
  *update.add_targets() = Stats("most delayed", 2, 50);
  *update.add_targets() = Stats("many", 9, 0);
  model.Apply(update);
  const auto rows = model.TopRows(2);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]->stats.qualname(), "most delayed");
  EXPECT_EQ(rows[1]->stats.qualname(), "many");
}

TEST(SessionModel, ProgramsOfOneProcessHaveRowsOfTheirOwn) {
  SessionModel model;
  v1::SessionUpdate update = Active(0, 0);
  update.clear_targets();
  *update.add_targets() = Stats("step", 1000, 0);
  *update.add_targets() = Stats("step", 3, 0);
  update.mutable_targets(1)->set_process_number(1);
  model.Apply(update);
  ASSERT_EQ(model.target_count(), 2u);
  EXPECT_EQ(model.TopRows(1)[0]->stats.calls(), 1000u);
}

TEST(SessionModel, KeepsWhatLaterUpdatesDoNotRepeat) {
  SessionModel model;
  v1::SessionUpdate update = Active(0, 1);
  update.add_warnings("raised to the minimum");
  update.add_warnings("raised to the minimum");
  model.Apply(update);
  v1::SessionUpdate bare;
  bare.set_state(v1::ACTIVE);
  model.Apply(bare);
  EXPECT_EQ(model.head().session_id(), "s-1");
  EXPECT_EQ(model.head().process().pid(), 4242);
  EXPECT_EQ(model.head().patterns_size(), 2);
  EXPECT_EQ(model.head().warnings_size(), 1);
}

TEST(SessionModel, ActiveTimeIsTheSessionsAlsoWhereItsBeginWasNotSeen) {
  SessionModel model;
  model.Apply(Active(16, 16'000));
  EXPECT_EQ(model.active_ns(), 16 * test::kSecondNs);
  EXPECT_EQ(model.MeanRate(*model.TopRows(1)[0]), 1'000);
  model.Apply(test::Ended(20, 19'910, "detached"));  // took 90 ms to detach
  EXPECT_EQ(model.active_ns(), 19'910'000'000u);
  EXPECT_EQ(model.MeanRate(*model.TopRows(1)[0]), 1'000);
}

}  // namespace
}  // namespace sbump
