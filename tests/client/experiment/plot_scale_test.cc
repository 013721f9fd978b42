#include "client/experiment/plot_scale.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> labels;
  for (const Tick& tick : ticks) labels.push_back(tick.label);
  return labels;
}

TEST(PlotScale, RoundNumbersAreWritten) {
  EXPECT_THAT(Labels(TicksOf(Scale(0, 10), 5)), ElementsAre("0", "2", "4", "6", "8", "10"));
  EXPECT_THAT(Labels(TicksOf(Scale(-0.12, 0.31), 5)),
              ElementsAre("-0.1", "0.0", "0.1", "0.2", "0.3"));
  EXPECT_THAT(Labels(TicksOf(Scale(1.97, 2.21), 3)), ElementsAre("2.0", "2.1", "2.2"));
}

TEST(PlotScale, WhateverTheRangeThereAreFewFiniteNumbers) {
  for (const double low : {-1e15, -1.0, 0.0, 1e-9, 5e14}) {
    for (const double width : {0.0, 1e-12, 1.0, 1e15}) {
      const Scale scale(low, low + width);
      EXPECT_LT(scale.low(), scale.high());
      const std::vector<Tick> ticks = TicksOf(scale, 5);
      EXPECT_LE(ticks.size(), 50u);
      for (const Tick& tick : ticks) EXPECT_TRUE(std::isfinite(tick.value));
      EXPECT_TRUE(std::isfinite(scale.At(low)));
    }
  }
}

TEST(PlotScale, NumbersBeyondAreAtTheEnds) {
  const Scale scale(0, 4);
  EXPECT_EQ(scale.At(-9), 0);
  EXPECT_EQ(scale.At(1), 0.25);
  EXPECT_EQ(scale.At(9), 1);
}

TEST(PlotScale, TimesHaveAUnitInWhichTheyAreShort) {
  EXPECT_EQ(TimeUnitFor(900).name, "ns");
  EXPECT_EQ(TimeUnitFor(640'000).name, "us");
  EXPECT_EQ(TimeUnitFor(3.5e6).name, "ms");
  EXPECT_EQ(TimeUnitFor(4e9).name, "s");
  const std::vector<Tick> ticks = TimeTicksOf(Scale(0, 4e6), TimeUnitFor(4e6), 4);
  EXPECT_THAT(Labels(ticks), ElementsAre("0", "1", "2", "3", "4"));
  EXPECT_EQ(ticks[1].value, 1e6);
}

}  // namespace
}  // namespace sbump
