#include "daemon/estimate/stolen_time.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

// Where processors are hardly wanted, one step of the counters says nothing of a window.
TEST(StolenTimeTest, WindowsCountByWhatWasWanted) {
  const std::vector<Window> windows = {{.wanted_ns = 970, .stolen_ns = 70},
                                       {.wanted_ns = 0, .stolen_ns = 0},
                                       {.wanted_ns = 30, .stolen_ns = 30}};
  EXPECT_DOUBLE_EQ(StolenShare(windows), 0.1);
}

TEST(StolenTimeTest, WhatIsNotKnownIsNone) {
  EXPECT_EQ(StolenShare({}), 0);
  EXPECT_EQ(StolenShare({{}, {}}), 0);
}

TEST(StolenTimeTest, LittleIsNotToldOf) {
  EXPECT_EQ(StolenWarning(0.049, "meanwhile"), "");
  const std::string warning = StolenWarning(0.217, "meanwhile");
  EXPECT_TRUE(warning.starts_with("meanwhile steal time was 21.7 %")) << warning;
}

}  // namespace
}  // namespace sbump
