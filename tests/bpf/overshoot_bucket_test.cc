#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "bpf/shared/slot.h"

namespace {

constexpr uint64_t kEnd = uint64_t{1} << 32;

TEST(OvershootBucketTest, TheFirstOnes) {
  EXPECT_EQ(sb_overshoot_bucket(0), 0u);
  EXPECT_EQ(sb_overshoot_bucket(1), 1u);
  EXPECT_EQ(sb_overshoot_bucket(2), 3u);
  EXPECT_EQ(sb_overshoot_bucket(3), 4u);
  EXPECT_EQ(sb_overshoot_bucket(4), 5u);
}

TEST(OvershootBucketTest, TwoPerPowerOfTwo) {
  for (uint32_t log2 = 1; log2 < 31; ++log2) {
    const uint64_t power = uint64_t{1} << log2;
    const uint32_t lower = sb_overshoot_bucket(power);
    EXPECT_EQ(sb_overshoot_bucket(power + power / 2 - 1), lower) << power;
    EXPECT_EQ(sb_overshoot_bucket(power + power / 2), lower + 1) << power;
    EXPECT_EQ(sb_overshoot_bucket(2 * power - 1), lower + 1) << power;
    EXPECT_EQ(sb_overshoot_bucket(2 * power), lower + 2) << power;
  }
}

TEST(OvershootBucketTest, WhatIsTooLongIsInTheLast) {
  for (const uint64_t ns : {kEnd - 1, kEnd, kEnd + 1, std::numeric_limits<uint64_t>::max()})
    EXPECT_EQ(sb_overshoot_bucket(ns), SB_OVERSHOOT_BUCKETS - 1u) << ns;
}

TEST(OvershootBucketTest, AStartFallsIntoItsOwnBucket) {
  uint64_t last = 0;
  for (uint32_t bucket = 0; bucket < SB_OVERSHOOT_BUCKETS; ++bucket) {
    const uint64_t start = sb_overshoot_bucket_start_ns(bucket);
    EXPECT_GE(start, last) << bucket;
    last = start;
    if (bucket == 2) continue;  // [1, 2) has no second half
    EXPECT_EQ(sb_overshoot_bucket(start), bucket);
    if (start > 1) {
      EXPECT_LT(sb_overshoot_bucket(start - 1), bucket);
    }
  }
}

}  // namespace
