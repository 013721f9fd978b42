#include "daemon/base/processor_time.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

TEST(ProcessorTimeTest, WhatIsWantedIsAllButIdle) {
  const ProcessorTime time =
      ParseProcessorTime("cpu  100 20 30 4000 500 6 7 80 9 1\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
  EXPECT_EQ(time.wanted, 100 + 20 + 30 + 6 + 7 + 80);
  EXPECT_EQ(time.stolen, 80);
}

TEST(ProcessorTimeTest, WhatIsNoneSaysNothing) {
  for (const char* text :
       {"", "cpu", "cpu0 1 2 3 4 5 6 7 8", "cpu  1 2 3 4 5 6 7", "cpu  1 2 3 4 5 6 7 x",
        "cpu  1 -2 3 4 5 6 7 8", "cpu  1 2 3 4 5 6 7 99999999999999999999999"}) {
    const ProcessorTime time = ParseProcessorTime(text);
    EXPECT_EQ(time.wanted, 0) << text;
    EXPECT_EQ(time.stolen, 0) << text;
  }
  EXPECT_EQ(ReadProcessorTime("/proc/sbump-has-no-such-file").wanted, 0);
}

TEST(ProcessorTimeTest, OfThisMachineTime) {
  const ProcessorTime time = ReadProcessorTime();
  EXPECT_GT(time.wanted, 0);
  EXPECT_LE(time.stolen, time.wanted);
}

TEST(ProcessorTimeTest, TheShareOfWhatWasWanted) {
  EXPECT_EQ(StolenShare({100, 10}, {300, 60}), 0.25);
  EXPECT_EQ(StolenShare({100, 10}, {300, 10}), 0);
}

TEST(ProcessorTimeTest, CountersThatGoBackOrAreNotToldGiveNone) {
  EXPECT_EQ(StolenShare({100, 10}, {300, 9}), 0);
  EXPECT_EQ(StolenShare({100, 10}, {100, 10}), 0);
  EXPECT_EQ(StolenShare({100, 10}, {90, 20}), 0);
  EXPECT_EQ(StolenShare({}, {300, 60}), 0);
  EXPECT_EQ(StolenShare({100, 10}, {101, 60}), 1);
}

}  // namespace
}  // namespace sbump
