#include "daemon/estimate/noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "daemon/estimate/settle.h"
#include "tests/estimate/service.h"

namespace sbump {
namespace {

std::vector<double> Series(size_t size, double sd, double ar, double drift, uint64_t seed) {
  Random random(seed);
  double state = Normal(random);
  std::vector<double> series;
  for (size_t i = 0; i < size; ++i) {
    series.push_back(1'000 * (1 + sd * state + drift * double(i) / double(size)));
    state = ar * state + std::sqrt(1 - ar * ar) * Normal(random);
  }
  return series;
}

TEST(NoiseTest, OfIndependentWindows) {
  const Noise noise = NoiseOf(Series(4'000, 0.02, 0, 0, 1));
  EXPECT_EQ(noise.windows, 4'000u);
  EXPECT_NEAR(noise.mean_ns, 1'000, 2);
  EXPECT_NEAR(noise.cv, 0.02, 0.001);
  EXPECT_NEAR(noise.lag1, 0, 0.06);
  EXPECT_NEAR(noise.autocorrelation_windows, 1, 0.25);
  EXPECT_GT(noise.drift_p, 0.001);
  EXPECT_NEAR(PredictedCv(noise, 16), 0.005, 0.0008);
  EXPECT_NEAR(PredictedCv(noise, 0.25), 0.04, 0.002);
}

// AR(1) of 0.6: (1 + 0.6) / (1 - 0.6) = 4 windows.
TEST(NoiseTest, OfWindowsThatRemember) {
  const Noise noise = NoiseOf(Series(4'000, 0.02, 0.6, 0, 1));
  EXPECT_NEAR(noise.lag1, 0.6, 0.05);
  EXPECT_NEAR(noise.autocorrelation_windows, 4, 1);
  for (const LongerWindows& longer : noise.longer) {
    if (longer.times > 16) continue;
    EXPECT_NEAR(longer.cv, PredictedCv(noise, double(longer.times)), 0.15 * longer.cv);
  }
  // Far more than a hundredth of the variance of one in a hundred.
  EXPECT_NEAR(PredictedCv(noise, 100), 0.02 * std::sqrt(4.0 / 100), 0.0006);
}

TEST(NoiseTest, DriftIsNoNoise) {
  const Noise noise = NoiseOf(Series(30, 0.005, 0, 0.1, 2));
  EXPECT_NEAR(noise.drift, 0.1 / 1.05, 0.02);
  EXPECT_LT(noise.drift_p, 1e-6);
  EXPECT_NEAR(noise.cv, 0.005, 0.003);
}

// 400 pilots of 30 windows without drift: 5 % = 20 expected, 99.9 % have at most 36; AR(1) of few
// windows is underestimated: three times as many are allowed.
TEST(NoiseTest, DriftIsHardlyFoundWhereThereIsNone) {
  int iid = 0, ar = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    iid += NoiseOf(Series(30, 0.02, 0, 0, seed)).drift_p <= 0.05;
    ar += NoiseOf(Series(30, 0.02, 0.6, 0, seed)).drift_p <= 0.05;
  }
  EXPECT_LE(iid, 36);
  EXPECT_LE(ar, 60);
}

TEST(NoiseTest, FewOrBadWindows) {
  EXPECT_EQ(NoiseOf({}).windows, 0u);
  EXPECT_EQ(NoiseOf({}).mean_ns, 0);
  EXPECT_EQ(NoiseOf({1, 2, 3}).cv, 0);
  const Noise noise = NoiseOf({1, 2, NAN, 1, 2, INFINITY, 1, 2, 0, 1, 2, -1});
  EXPECT_EQ(noise.windows, 8u);
  EXPECT_TRUE(std::isfinite(noise.cv) && std::isfinite(noise.drift_p));
  const Noise constant = NoiseOf(std::vector<double>(20, 5.0));
  EXPECT_EQ(constant.cv, 0);
  EXPECT_EQ(constant.autocorrelation_windows, 1);
  EXPECT_TRUE(std::isfinite(constant.drift_p));
}

std::vector<StepSample> Step(double time_constant, double noise, uint64_t seed, size_t size = 80) {
  Random random(seed);
  std::vector<StepSample> samples;
  for (size_t i = 0; i < size; ++i) {
    const double since = double(i);
    samples.push_back(
        {since, 110 - 10 * std::exp(-since / time_constant) + noise * Normal(random)});
  }
  return samples;
}

TEST(SettleTest, OfAnExponentialApproach) {
  const auto settled = SettleNs(Step(5, 0.1, 1));
  ASSERT_TRUE(settled);
  // Within the noise (0.1 of 10) after ln 100 = 4.6 time constants, give or take.
  EXPECT_GT(*settled, 12);
  EXPECT_LT(*settled, 30);
}

TEST(SettleTest, AtOnce) { EXPECT_LE(*SettleNs(Step(0.01, 0.1, 1)), 2); }

TEST(SettleTest, WithoutNoise) {
  std::vector<StepSample> samples;
  for (int i = 0; i < 20; ++i) samples.push_back({double(i), i < 4 ? 1.0 : 2.0});
  EXPECT_EQ(*SettleNs(samples), 4);
}

TEST(SettleTest, NeverWhereItStillMoves) {
  EXPECT_FALSE(SettleNs(Step(200, 0.1, 1)));
  EXPECT_FALSE(SettleNs(Step(1, 0.1, 1, 11)));
  EXPECT_FALSE(SettleNs({}));
}

// A program whose units are all alike, and that drifts by a thousandth of the step.
TEST(SettleTest, WhatIsNegligibleHasSettled) {
  std::vector<StepSample> samples = Step(1e-9, 0, 1);
  for (StepSample& sample : samples) sample.y_ns -= 0.01 * std::exp(-sample.since_ns / 20);
  EXPECT_GT(SettleNs(samples).value_or(99), 20);
  EXPECT_LE(SettleNs(samples, {.negligible_ns = 0.2}).value_or(99), 2);
  // The step itself is not.
  EXPECT_GT(SettleNs(Step(5, 0.1, 1), {.negligible_ns = 0.2}).value_or(0), 12);
}

// 200 flat series: none is taken for one that moves but by chance at four standard errors.
TEST(SettleTest, FlatIsSettledFromTheBeginning) {
  int late = 0;
  for (uint64_t seed = 0; seed < 200; ++seed)
    late += SettleNs(Step(1e-9, 1, seed)).value_or(99) > 2;
  EXPECT_LE(late, 6);
}

// A dozen samples, as an experiment's pilot has, by chance often lie closer together than others.
TEST(SettleTest, OfFewSamplesTheNoiseHasToBeKnown) {
  int late = 0, late_of_known = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const std::vector<StepSample> samples = Step(1e-9, 1, seed, 12);
    late += SettleNs(samples).value_or(99) > 2;
    late_of_known += SettleNs(samples, {.noise_sd_ns = 1}).value_or(99) > 2;
  }
  EXPECT_GE(late, 15);
  EXPECT_LE(late_of_known, 3);
}

}  // namespace
}  // namespace sbump
