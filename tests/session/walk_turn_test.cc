#include "daemon/session/walk_turn.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "daemon/base/clock.h"

namespace sbump {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(WalkTurnTest, OneAtATime) {
  WalkTurn turn;
  std::optional<WalkTurn::Hold> first(turn.Take(60'000 * kMs));
  std::atomic<bool> second_has_it = false;
  std::thread second([&] {
    const WalkTurn::Hold hold = turn.Take(kMs);
    second_has_it = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(second_has_it);
  first.reset();
  second.join();
}

TEST(WalkTurnTest, WhoeverTakesTooLongLosesIt) {
  WalkTurn turn;
  const uint64_t begin_ns = MonotonicNs();
  WalkTurn::Hold stuck = turn.Take(30 * kMs);
  WalkTurn::Hold next = turn.Take(60'000 * kMs);
  EXPECT_GE(MonotonicNs() - begin_ns, 30 * kMs);
  // Its end comes late, and takes nothing from the one that has it now.
  stuck.Release();
  std::atomic<bool> third_has_it = false;
  std::thread third([&] {
    const WalkTurn::Hold hold = turn.Take(kMs);
    third_has_it = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(third_has_it);
  next.Release();
  third.join();
}

}  // namespace
}  // namespace sbump
