#include "daemon/estimate/stolen_time.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

TEST(StolenTimeTest, WindowsCountByTheirLength) {
  const std::vector<Window> windows = {{.begin_ns = 100, .end_ns = 400, .stolen = 0.2},
                                       {.begin_ns = 500, .end_ns = 600, .stolen = 0}};
  EXPECT_DOUBLE_EQ(StolenShare(windows), 0.15);
}

TEST(StolenTimeTest, NoTimeSaysNothing) {
  EXPECT_EQ(StolenShare({}), 0);
  EXPECT_EQ(StolenShare({{.begin_ns = 9, .end_ns = 9, .stolen = 1},
                         {.begin_ns = 9, .end_ns = 3, .stolen = 1}}),
            0);
}

TEST(StolenTimeTest, LittleIsNotToldOf) {
  EXPECT_EQ(StolenWarning(0.049, "meanwhile"), "");
  const std::string warning = StolenWarning(0.217, "meanwhile");
  EXPECT_TRUE(warning.starts_with("meanwhile, the hypervisor gave 21.7 %")) << warning;
}

}  // namespace
}  // namespace sbump
