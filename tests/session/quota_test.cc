#include "daemon/session/quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>
#include <vector>

namespace sbump {
namespace {

using ::testing::HasSubstr;

TEST(QuotaTest, GivesWhatIsLeft) {
  Quota quota(5);
  auto some = quota.Take(3);
  ASSERT_TRUE(some);
  EXPECT_FALSE(quota.Take(3)) << "not a part of it either";
  const auto others = quota.Take(2);
  EXPECT_TRUE(others);
  EXPECT_FALSE(quota.Take());
  some.reset();
  EXPECT_TRUE(quota.Take(3));
}

TEST(QuotaTest, AShareThatMovesIsGivenBackOnce) {
  Quota quota(1);
  {
    auto first = quota.Take();
    ASSERT_TRUE(first);
    const Quota::Share second = *std::move(first);
    first.reset();
    EXPECT_FALSE(quota.Take());
  }
  EXPECT_TRUE(quota.Take());
}

TEST(QuotaTest, NothingIsAlwaysThere) {
  Quota quota(1);
  const auto all = quota.Take();
  EXPECT_TRUE(quota.Take(0));
}

TEST(QuotaTest, NeverGivesMoreThanThereIs) {
  constexpr size_t kMost = 3;
  Quota quota(kMost);
  std::atomic<size_t> taken = 0, largest = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        const auto share = quota.Take();
        if (!share) continue;
        const size_t now = ++taken;
        size_t seen = largest;
        while (seen < now && !largest.compare_exchange_weak(seen, now)) {
        }
        --taken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(largest, kMost);
  EXPECT_TRUE(quota.Take(kMost)) << "all came back";
}

TEST(QuotaTest, AsManyProcessesAsThereAreFileDescriptorsFor) {
  EXPECT_EQ(ProcessesWith(RLIM_INFINITY, true).most(), kMostProcesses);
  EXPECT_EQ(ProcessesWith(65'536, true).most(), kMostProcesses) << "deploy/sbumpd.service";
  EXPECT_EQ(ProcessesWith(20'000, true).most(), 487);
  EXPECT_EQ(ProcessesWith(1024, true).most(), 12);
  EXPECT_EQ(ProcessesWith(84, true).most(), 8) << "what fails names the limit then";
}

TEST(QuotaTest, AsManyProcessesAsAreLetGoInTime) {
  EXPECT_EQ(ProcessesWith(65'536, false).most(), kMostProcessesClosedSingly);
  EXPECT_EQ(ProcessesWith(1024, false).most(), 12);
}

TEST(QuotaTest, SaysWhatBoundsIt) {
  EXPECT_EQ(ProcessesWith(65'536, true).bound(), "the most it takes: end other sessions");
  EXPECT_THAT(std::string(ProcessesWith(1024, false).bound()), HasSubstr("limit of open files"));
  EXPECT_THAT(std::string(ProcessesWith(65'536, false).bound()), HasSubstr("no uprobe_multi"));
}

}  // namespace
}  // namespace sbump
