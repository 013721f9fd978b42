#include "daemon/attach/least_time.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace sbump {
namespace {

TEST(LeastTimeTest, TheLeastCountsWhateverCameBeforeOrAfter) {
  LeastTime time;
  for (const uint64_t ns : {1200, 1100, 744, 1300, 750}) time.Add(ns);
  EXPECT_EQ(time.ns(), 744u);
}

TEST(LeastTimeTest, TimesThatScatterSettleNothing) {
  LeastTime time;
  for (uint64_t ns = 1300; ns > 900; ns -= 40) {
    time.Add(ns);
    EXPECT_FALSE(time.Settled()) << ns;
  }
}

TEST(LeastTimeTest, FourThatAgreeSettleIt) {
  LeastTime time;
  for (const uint64_t ns : {1200, 744, 1100, 734, 754}) time.Add(ns);
  EXPECT_FALSE(time.Settled());
  time.Add(745);
  EXPECT_TRUE(time.Settled());
}

// That all were disturbed alike shows when the disturbance ends.
TEST(LeastTimeTest, OneThatIsMuchLessUnsettlesIt) {
  LeastTime time;
  for (int i = 0; i < 4; ++i) time.Add(1100);
  EXPECT_TRUE(time.Settled());
  time.Add(744);
  EXPECT_FALSE(time.Settled());
  EXPECT_EQ(time.ns(), 744u);
}

}  // namespace
}  // namespace sbump
