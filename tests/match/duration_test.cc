#include "daemon/match/duration.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;

TEST(DurationTest, ReadsEachUnit) {
  EXPECT_EQ(*ParseDuration("800ns"), 800u);
  EXPECT_EQ(*ParseDuration("10us"), 10'000u);
  EXPECT_EQ(*ParseDuration("10\u00b5s"), 10'000u);
  EXPECT_EQ(*ParseDuration("10\u03bcs"), 10'000u);
  EXPECT_EQ(*ParseDuration("1.5ms"), 1'500'000u);
  EXPECT_EQ(*ParseDuration("30s"), 30'000'000'000u);
  EXPECT_EQ(*ParseDuration("10m"), 600'000'000'000u);
  EXPECT_EQ(*ParseDuration("1h"), 3'600'000'000'000u);
}

TEST(DurationTest, ZeroNeedsNoUnit) {
  for (std::string_view text : {"0", "00", "0.0", "0ns", "0h"}) EXPECT_EQ(*ParseDuration(text), 0u);
}

TEST(DurationTest, IsExact) {
  EXPECT_EQ(*ParseDuration("0.1us"), 100u);
  EXPECT_EQ(*ParseDuration("1.000000001s"), 1'000'000'001u);
  EXPECT_EQ(*ParseDuration("0.00000000005m"), 3u);
  EXPECT_EQ(*ParseDuration("2.00000000000000000000000000ns"), 2u);
  EXPECT_EQ(*ParseDuration("9007199254740993ns"), 9007199254740993u);  // not a double
  EXPECT_EQ(*ParseDuration("18446744073709551615ns"), UINT64_MAX);
  EXPECT_EQ(*ParseDuration("18446744073.709551615s"), UINT64_MAX);
}

TEST(DurationTest, ErrorsQuoteTheTextAndNameTheUnits) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "empty"},
      {"10", "no unit"},
      {"0.5", "no unit"},
      {"-1s", "negative"},
      {"+1s", "does not begin with a digit"},
      {".5s", "does not begin with a digit"},
      {"1.s", "no digit after the point"},
      {"1 s", "unknown unit"},
      {"1s ", "unknown unit"},
      {"1S", "unknown unit"},
      {"1e3s", "unknown unit"},
      {"1min", "unknown unit"},
      {"1.5ns", "finer than 1ns"},
      {"0.0000000001s", "finer than 1ns"},
      {"0.00000000000000000000000001h", "finer than 1ns"},
      {"18446744073709551616ns", "too long"},
      {"18446744073.709551616s", "too long"},
      {"99999999999999999999999999999999999999999999h", "too long"},
  };
  for (const auto& [text, why] : cases) {
    const absl::Status status = ParseDuration(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    const std::string message(status.message());
    EXPECT_THAT(message, HasSubstr("\"" + text + "\": " + why));
    EXPECT_THAT(message, HasSubstr("ns, us, ms, s, m, h"));
  }
}

TEST(DurationTest, WritesTheShortest) {
  EXPECT_EQ(FormatDuration(0), "0");
  EXPECT_EQ(FormatDuration(1), "1ns");
  EXPECT_EQ(FormatDuration(999), "999ns");
  EXPECT_EQ(FormatDuration(10'000), "10us");
  EXPECT_EQ(FormatDuration(1'500'000), "1.5ms");
  EXPECT_EQ(FormatDuration(1'000'001), "1.000001ms");
  EXPECT_EQ(FormatDuration(90'000'000'000), "90s");
  EXPECT_EQ(FormatDuration(120'000'000'000), "2m");
  EXPECT_EQ(FormatDuration(7'200'000'000'000), "2h");
  EXPECT_EQ(FormatDuration(60'000'000'001), "60.000000001s");
}

TEST(DurationTest, ReadsBackWhatItWrites) {
  std::mt19937_64 random(20261120);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t ns = random() >> (random() % 64);
    EXPECT_EQ(*ParseDuration(FormatDuration(ns)), ns);
  }
  EXPECT_EQ(*ParseDuration(FormatDuration(UINT64_MAX)), UINT64_MAX);
}

}  // namespace
}  // namespace sbump
