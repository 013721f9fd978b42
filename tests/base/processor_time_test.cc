#include "daemon/base/processor_time.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

constexpr uint64_t kTickNs = 10'000'000;

TEST(ProcessorTimeTest, WhatIsWantedIsAllButIdle) {
  const ProcessorTime time =
      ParseProcessorTime("cpu  100 20 30 4000 500 6 7 80 9 1\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
  EXPECT_EQ(time.wanted_ns, (100 + 20 + 30 + 6 + 7 + 80) * kTickNs);
  EXPECT_EQ(time.stolen_ns, 80 * kTickNs);
}

TEST(ProcessorTimeTest, WhatIsNoneSaysNothing) {
  for (const char* text :
       {"", "cpu", "cpu0 1 2 3 4 5 6 7 8", "cpu  1 2 3 4 5 6 7", "cpu  1 2 3 4 5 6 7 x",
        "cpu  1 -2 3 4 5 6 7 8", "cpu  1 2 3 4 5 6 7 99999999999999999999999"}) {
    const ProcessorTime time = ParseProcessorTime(text);
    EXPECT_EQ(time.wanted_ns, 0) << text;
    EXPECT_EQ(time.stolen_ns, 0) << text;
  }
  EXPECT_EQ(ReadProcessorTime("/proc/sbump-has-no-such-file").wanted_ns, 0);
}

TEST(ProcessorTimeTest, OfThisMachine) {
  const ProcessorTime time = ReadProcessorTime();
  EXPECT_GT(time.wanted_ns, 0);
  EXPECT_LE(time.stolen_ns, time.wanted_ns);
}

void ExpectBetween(const ProcessorTime& before, const ProcessorTime& after,
                   const ProcessorTime& expected) {
  const ProcessorTime time = Between(before, after);
  EXPECT_EQ(time.wanted_ns, expected.wanted_ns);
  EXPECT_EQ(time.stolen_ns, expected.stolen_ns);
}

TEST(ProcessorTimeTest, BetweenTwoMoments) {
  ExpectBetween({100, 10}, {300, 60}, {200, 50});
  ExpectBetween({100, 10}, {300, 10}, {200, 0});
}

TEST(ProcessorTimeTest, CountersThatGoBackOrAreNotToldSayNothing) {
  ExpectBetween({100, 10}, {300, 9}, {200, 0});
  ExpectBetween({100, 10}, {100, 20}, {});
  ExpectBetween({100, 10}, {90, 20}, {});
  ExpectBetween({}, {300, 60}, {});
  ExpectBetween({100, 10}, {101, 60}, {1, 1});
}

}  // namespace
}  // namespace sbump
