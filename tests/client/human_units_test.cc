#include "client/human_units.h"

#include <cstdlib>
#include <ctime>

#include "gtest/gtest.h"

namespace sbump {
namespace {

TEST(HumanNs, HasThreeDigits) {
  EXPECT_EQ(HumanNs(0), "0");
  EXPECT_EQ(HumanNs(812), "812ns");
  EXPECT_EQ(HumanNs(1'000), "1.00us");
  EXPECT_EQ(HumanNs(10'240), "10.2us");
  EXPECT_EQ(HumanNs(999'400), "999us");
  EXPECT_EQ(HumanNs(999'600), "1.00ms") << "rounds into the next unit";
  EXPECT_EQ(HumanNs(12'300'000'000), "12.3s");
  EXPECT_EQ(HumanNs(245'000'000'000), "4m05s");
  EXPECT_EQ(HumanNs(7'380'000'000'000), "2h03m");
}

TEST(HumanCount, GroupsDigits) {
  EXPECT_EQ(HumanCount(0), "0");
  EXPECT_EQ(HumanCount(999), "999");
  EXPECT_EQ(HumanCount(12'345), "12,345");
  EXPECT_EQ(HumanCount(18'446'744'073'709'551'615u), "18,446,744,073,709,551,615");
}

TEST(HumanRate, IsShort) {
  EXPECT_EQ(HumanRate(0), "0");
  EXPECT_EQ(HumanRate(0.314), "0.31");
  EXPECT_EQ(HumanRate(12.34), "12.3");
  EXPECT_EQ(HumanRate(12'340), "12.3k");
  EXPECT_EQ(HumanRate(1'200'000), "1.20M");
}

TEST(HumanTime, IsLocalTime) {
  setenv("TZ", "UTC", 1);
  tzset();
  EXPECT_EQ(HumanTime(1'700'000'000'000'000'000), "2023-11-14 22:13:20");
  EXPECT_EQ(HumanTime(0), "-");
}

}  // namespace
}  // namespace sbump
