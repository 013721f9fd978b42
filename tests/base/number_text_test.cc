#include "daemon/base/number_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace sbump {
namespace {

TEST(NumberTextTest, ThereAndBack) {
  for (double number : {0.0, -1.5, 0.1, 1000000007.0, 1e300, 5e-324, 9007199254740993.0,
                        std::numeric_limits<double>::max()})
    EXPECT_EQ(NumberFrom(NumberText(number)), number);
  EXPECT_EQ(NumberText(1000000007), "1000000007");
  EXPECT_EQ(NumberText(0.1), "0.1");
}

TEST(NumberTextTest, WhatIsRead) {
  EXPECT_EQ(NumberFrom("+12"), 12);
  EXPECT_EQ(NumberFrom("1e3"), 1000);
  EXPECT_EQ(NumberFrom(".5"), 0.5);
  EXPECT_EQ(NumberFrom("+Inf"), INFINITY);
  EXPECT_TRUE(std::isnan(NumberFrom("NaN").value()));
}

TEST(NumberTextTest, WhatIsNot) {
  for (const std::string& text :
       std::vector<std::string>{"", " ", "+", "-", "+-1", "++1", " 1", "1 ", "1,000", "0x10",
                                "1_000", "1e999", "one", "1s"})
    EXPECT_FALSE(NumberFrom(text)) << text;
}

}  // namespace
}  // namespace sbump
