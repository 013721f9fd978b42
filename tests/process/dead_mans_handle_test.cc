#include "daemon/process/dead_mans_handle.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/timerfd.h>

#include <optional>

#include "daemon/base/clock.h"

namespace sbump {
namespace {

using Promise = DeadMansHandle::Promise;

// CLOCK_MONOTONIC ns at which it expires; 0: disarmed.
uint64_t Expires() {
  itimerspec left{};
  timerfd_gettime(DeadMansHandle::timer_fd(), &left);
  const uint64_t ns = static_cast<uint64_t>(left.it_value.tv_sec) * 1'000'000'000 +
                      static_cast<uint64_t>(left.it_value.tv_nsec);
  return ns == 0 ? 0 : MonotonicNs() + ns;
}

bool IsBroken() {
  pollfd timer{DeadMansHandle::timer_fd(), POLLIN, 0};
  return poll(&timer, 1, 0) == 1;
}

constexpr uint64_t kSecond = 1'000'000'000;

void ExpectAbout(uint64_t ns, uint64_t expected_ns) {
  EXPECT_GT(ns + kSecond / 2, expected_ns);
  EXPECT_LT(ns, expected_ns + kSecond / 2);
}

TEST(DeadMansHandleTest, IsArmedWhileSomethingIsPromised) {
  EXPECT_EQ(Expires(), 0u);
  const uint64_t until_ns = MonotonicNs() + 10 * kSecond;
  {
    const Promise promise(until_ns);
    ExpectAbout(Expires(), until_ns + DeadMansHandle::kSlackNs);
  }
  EXPECT_EQ(Expires(), 0u);
}

TEST(DeadMansHandleTest, TheEarliestPromiseCounts) {
  const uint64_t now_ns = MonotonicNs();
  const Promise late(now_ns + 60 * kSecond);
  std::optional<Promise> early(now_ns + 10 * kSecond);
  const Promise same(now_ns + 60 * kSecond);
  ExpectAbout(Expires(), now_ns + 10 * kSecond + DeadMansHandle::kSlackNs);
  early->Change(now_ns + 20 * kSecond);
  ExpectAbout(Expires(), now_ns + 20 * kSecond + DeadMansHandle::kSlackNs);
  early.reset();
  ExpectAbout(Expires(), now_ns + 60 * kSecond + DeadMansHandle::kSlackNs);
}

TEST(DeadMansHandleTest, ABrokenPromiseShows) {
  {
    const Promise broken(MonotonicNs() - 2 * DeadMansHandle::kSlackNs);
    EXPECT_TRUE(IsBroken());
  }
  EXPECT_FALSE(IsBroken());
}

TEST(DeadMansHandleTest, ForEverIsNoOverflow) {
  const Promise promise(UINT64_MAX);
  EXPECT_FALSE(IsBroken());
}

}  // namespace
}  // namespace sbump
