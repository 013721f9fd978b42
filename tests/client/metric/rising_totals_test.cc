#include "client/metric/rising_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sbump {
namespace {

using testing::HasSubstr;

TEST(RisingTotalsTest, WhatRisesAndWhatIsNew) {
  RisingTotals totals;
  EXPECT_TRUE(totals.Admit({{"a", 1}}).ok());
  EXPECT_TRUE(totals.Admit({{"a", 1}, {"b", 7}}).ok());
  EXPECT_TRUE(totals.Admit({{"a", 2}, {"b", 7.5}}).ok());
  EXPECT_EQ(totals.epoch(), 0u);
}

TEST(RisingTotalsTest, WhatFellIsTheNewBegin) {
  RisingTotals totals;
  EXPECT_TRUE(totals.Admit({{"a", 5}, {"b", 5}}).ok());
  const absl::Status fell = totals.Admit({{"a", 50}, {"b", 4}});
  EXPECT_EQ(fell.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(fell.message()),
              HasSubstr("b fell from 5 to 4; its process began again"));
  EXPECT_EQ(totals.epoch(), 1u);
  EXPECT_TRUE(totals.Admit({{"a", 50}, {"b", 4}}).ok());
  EXPECT_FALSE(totals.Admit({{"a", 49}, {"b", 4}}).ok());
  EXPECT_EQ(totals.epoch(), 2u);
}

TEST(RisingTotalsTest, WhatIsGone) {
  RisingTotals totals;
  EXPECT_TRUE(totals.Admit({{"a", 5}, {"\x1b", 5}}).ok());
  const absl::Status gone = totals.Admit({{"a", 6}});
  EXPECT_EQ(gone.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(gone.message()), HasSubstr("\\x1b is gone (it was 5)"));
  EXPECT_TRUE(totals.Admit({{"a", 6}}).ok());
}

TEST(RisingTotalsTest, WhatIsNotFiniteIsNotKept) {
  RisingTotals totals;
  EXPECT_TRUE(totals.Admit({{"", 5}}).ok());
  EXPECT_EQ(totals.Admit({{"", NAN}}).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(totals.Admit({{"", INFINITY}}).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(totals.epoch(), 0u);
  EXPECT_EQ(totals.Admit({{"", 4}}).code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace sbump
