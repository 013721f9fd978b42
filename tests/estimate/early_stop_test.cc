#include "daemon/estimate/early_stop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/estimate/service.h"

namespace sbump {
namespace {

// Two-sided 5 %, spending function of O'Brien and Fleming's kind, at equal steps: Lan and DeMets's
// boundaries as their program (Reboussin et al., Controlled Clinical Trials 21, 2000) and others
// print them.
TEST(EarlyStopTest, FiveAndThreeLooksAsPrinted) {
  const auto five = PlanLooks({0.2, 0.4, 0.6, 0.8, 1.0});
  ASSERT_TRUE(five.ok());
  const std::vector<double> printed = {4.877, 3.357, 2.680, 2.290, 2.031};
  for (size_t i = 0; i < printed.size(); ++i) EXPECT_NEAR((*five)[i].z, printed[i], 0.003);
  const auto three = PlanLooks({1.0 / 3, 2.0 / 3, 1.0});
  EXPECT_NEAR((*three)[0].z, 3.710, 0.003);
  EXPECT_NEAR((*three)[1].z, 2.511, 0.003);
  EXPECT_NEAR((*three)[2].z, 1.993, 0.003);
}

TEST(EarlyStopTest, OneLookAtTheEndIsTheUsualTest) {
  const auto looks = PlanLooks({1});
  EXPECT_NEAR((*looks)[0].z, 1.959964, 1e-4);
  EXPECT_NEAR((*looks)[0].p, 0.05, 1e-5);
}

// 20,000 walks without an effect: 5 % stop somewhere; 99.9 % of such counts are within 0.5 %.
TEST(EarlyStopTest, FivePercentStopWithoutAnEffectOverAllLooks) {
  const auto looks = PlanLooks();
  Random random(1);
  int stopped = 0;
  constexpr int kWalks = 20'000;
  for (int walk = 0; walk < kWalks; ++walk) {
    double sum = 0, fraction = 0;
    bool stops = false;
    for (const Look& look : *looks) {
      sum += Normal(random) * std::sqrt(look.fraction - fraction);
      fraction = look.fraction;
      stops = stops || std::abs(sum) / std::sqrt(fraction) >= look.z;
    }
    stopped += stops;
  }
  EXPECT_NEAR(stopped, 0.05 * kWalks, 0.0051 * kWalks);
}

TEST(EarlyStopTest, WhatIsSpentRisesToAlpha) {
  const auto looks = PlanLooks({0.5, 0.75, 1}, 0.1);
  EXPECT_LT((*looks)[0].spent, (*looks)[1].spent);
  EXPECT_NEAR((*looks)[2].spent, 0.1, 1e-9);
  EXPECT_GT((*looks)[0].z, (*looks)[2].z);
}

TEST(EarlyStopTest, LooksThatCannotBePlannedAreErrors) {
  EXPECT_FALSE(PlanLooks({}).ok());
  EXPECT_FALSE(PlanLooks({0.5, 0.5}).ok());
  EXPECT_FALSE(PlanLooks({0.5, 1.1}).ok());
  EXPECT_FALSE(PlanLooks({0, 1}).ok());
  EXPECT_FALSE(PlanLooks({NAN}).ok());
  EXPECT_FALSE(PlanLooks({1}, 0).ok());
  EXPECT_FALSE(PlanLooks({1}, NAN).ok());
}

}  // namespace
}  // namespace sbump
