#include "daemon/experiment/windows.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

ProcessMark MarkOf(size_t number, uint64_t at_ns, uint64_t units, uint64_t last_unit_ns,
                   GroupFigures group = {}) {
  return {.number = number,
          .at_ns = at_ns,
          .units = units,
          .last_unit_ns = last_unit_ns,
          .groups = {group}};
}

TEST(WindowsTest, IsTimedFromUnitToUnit) {
  const Window window =
      WindowBetween({MarkOf(0, 1'000, 10, 990)}, {MarkOf(0, 2'000, 14, 1'910)}, 1);
  EXPECT_EQ(window.begin_ns, 1'000);
  EXPECT_EQ(window.end_ns, 2'000);
  EXPECT_EQ(window.units, 4);
  EXPECT_DOUBLE_EQ(window.work_ns, 920);
  EXPECT_DOUBLE_EQ(NsPerUnit(window), 230);
  EXPECT_EQ(window.flaw, "");
}

TEST(WindowsTest, WhatWasInjectedIsThatOfTheWindow) {
  const Window window = WindowBetween({MarkOf(0, 1'000, 10, 990, {100, 50, 5'000})},
                                      {MarkOf(0, 2'000, 14, 1'910, {108, 58, 5'400})}, 1);
  EXPECT_EQ(window.groups[0].hits, 8);
  EXPECT_EQ(window.groups[0].delayed_hits, 8);
  EXPECT_DOUBLE_EQ(InjectedNsPerUnit(window, 0), 100);
}

TEST(WindowsTest, OfSeveralProcessesIsWhatAUnitTakesInOneOfThem) {
  // One makes a unit each 100 ns, the other each 300 ns: 12 units in 1,800 ns of work.
  const Window window = WindowBetween({MarkOf(0, 1'000, 0, 1'000), MarkOf(1, 1'010, 0, 1'000)},
                                      {MarkOf(0, 2'000, 9, 1'900), MarkOf(1, 2'010, 3, 1'900)}, 1);
  EXPECT_EQ(window.units, 12);
  EXPECT_NEAR(NsPerUnit(window), 150, 1e-9);
}

TEST(WindowsTest, AProcessThatCameInBetweenCountsFromItsBegin) {
  const Window window = WindowBetween(
      {MarkOf(0, 1'000, 0, 1'000)}, {MarkOf(0, 2'000, 10, 2'000), MarkOf(7, 2'000, 10, 2'000)}, 1);
  EXPECT_EQ(window.units, 20);
  EXPECT_NEAR(NsPerUnit(window), 100, 1e-9);
}

// As one of many that are there for a job each, and end before the window does.
TEST(WindowsTest, AProcessThatCameAndWentCountsForTheTimeThatItWasThere) {
  Mark end = {MarkOf(0, 2'000, 10, 2'000), MarkOf(7, 1'700, 3, 1'600)};
  end[1].since_ns = 1'400;
  const Window window = WindowBetween({MarkOf(0, 1'000, 0, 1'000)}, end, 1);
  EXPECT_EQ(window.units, 13);
  EXPECT_NEAR(NsPerUnit(window), 100, 1e-9);
}

// In this window, and long before it.
TEST(WindowsTest, OneThatHasEndedShortensNoWindow) {
  const Mark begin = {MarkOf(0, 1'000, 10, 990), MarkOf(1, 1'005, 9, 1'000),
                      MarkOf(2, 500, 70, 500, {7, 7, 70})};
  const Mark end = {MarkOf(0, 2'000, 20, 1'990), MarkOf(1, 1'100, 10, 1'100),
                    MarkOf(2, 500, 70, 500, {7, 7, 70})};
  const Window window = WindowBetween(begin, end, 1);
  EXPECT_EQ(window.begin_ns, 1'005);
  EXPECT_EQ(window.end_ns, 2'000);
  EXPECT_EQ(window.units, 11);
  EXPECT_EQ(window.groups[0].hits, 0);
  EXPECT_NEAR(NsPerUnit(window), 100, 1);
}

TEST(WindowsTest, TheFirstUnitEverHasNoneBeforeIt) {
  const Window window = WindowBetween({MarkOf(0, 1'000, 0, 0)}, {MarkOf(0, 2'000, 4, 1'900)}, 1);
  EXPECT_NEAR(NsPerUnit(window), 250, 1e-9);
}

TEST(WindowsTest, NoWorkIsAFlaw) {
  const Window window = WindowBetween({MarkOf(0, 1'000, 10, 990)}, {MarkOf(0, 2'000, 10, 990)}, 1);
  EXPECT_EQ(window.flaw, "no work was done: the metric did not move");
  EXPECT_EQ(WindowBetween({}, {}, 1).flaw, window.flaw);
}

// One that is in the middle of a long unit works, too; one that hands out work only does not.
TEST(WindowsTest, WhoWorksOnAUnitAllTheTimeCounts) {
  const Mark begin = {MarkOf(0, 1'000, 5, 1'000), MarkOf(1, 1'000, 5, 900), MarkOf(2, 1'000, 0, 0)};
  const Mark end = {MarkOf(0, 2'000, 15, 2'000), MarkOf(1, 2'000, 5, 900), MarkOf(2, 2'000, 0, 0)};
  EXPECT_NEAR(NsPerUnit(WindowBetween(begin, end, 1)), 200, 1e-9);
}

// It was idle, or on one long unit, in the two windows before, whose time it has had.
TEST(WindowsTest, NoTimeCountsTwice) {
  const Window window = WindowBetween({MarkOf(0, 1'000, 5, 1'000), MarkOf(1, 3'000, 5, 900)},
                                      {MarkOf(0, 2'000, 15, 2'000), MarkOf(1, 4'000, 6, 3'500)}, 1);
  EXPECT_EQ(window.units, 11);
  EXPECT_DOUBLE_EQ(window.work_ns, 1'600);
}

// Whether its units are short or longer than a window, and wherever in them it begins.
TEST(WindowsTest, AProcessThatAlwaysWorksCountsForTheWholeTime) {
  constexpr uint64_t kWindow = 1'000, kBegin = 1'000'000;
  for (const uint64_t unit : {70, 1'000, 1'200, 1'500, 1'700, 2'000, 3'700}) {
    double work_ns = 0, units = 0;
    for (uint64_t phase = 0; phase < unit; ++phase) {
      const auto mark = [&](uint64_t at) {
        const uint64_t made = (at - phase) / unit;
        return Mark{MarkOf(0, at, made, phase + made * unit)};
      };
      const Window window = WindowBetween(mark(kBegin), mark(kBegin + kWindow), 1);
      work_ns += window.work_ns;
      units += window.units;
    }
    EXPECT_NEAR(work_ns / static_cast<double>(unit), kWindow, 2) << unit;
    EXPECT_NEAR(work_ns / units, static_cast<double>(unit), 0.005 * static_cast<double>(unit));
  }
}

// A counter that went backwards (another program of the same number) adds nothing.
TEST(WindowsTest, NothingIsNegative) {
  const Window window = WindowBetween({MarkOf(0, 1'000, 10, 990, {5, 5, 500})},
                                      {MarkOf(0, 2'000, 4, 1'900, {1, 1, 100})}, 1);
  EXPECT_EQ(window.units, 0);
  EXPECT_EQ(window.groups[0].injected_ns, 0);
  EXPECT_NE(window.flaw, "");
}

}  // namespace
}  // namespace sbump
