// Needs root: the lock's directory is the machine's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "daemon/attach/target_lock.h"
#include "tests/process/child.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;

// Of no process: pids end at 2^22.
TargetId Nobody() {
  return {.pid = (1 << 22) + 17, .start_ticks = static_cast<uint64_t>(getpid())};
}

TEST(TargetLockTest, TheSecondIsToldWhoHoldsIt) {
  const auto first = TargetLock::Acquire(Nobody(), "session s1 of sbumpctl (pid 77)");
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = TargetLock::Acquire(Nobody(), "me").status();
  EXPECT_TRUE(absl::IsAlreadyExists(second)) << second;
  EXPECT_THAT(std::string(second.message()), HasSubstr("pid 4194321 is held by session s1 of"));
  EXPECT_THAT(std::string(second.message()), HasSubstr("sbumpctl detach --pid 4194321"));
}

TEST(TargetLockTest, AnotherStartTimeIsAnotherProcess) {
  const auto first = TargetLock::Acquire(Nobody(), "first");
  TargetId reused = Nobody();
  reused.start_ticks += 1;
  EXPECT_TRUE(TargetLock::Acquire(reused, "second").ok());
}

TEST(TargetLockTest, FreeAfterItsHoldersEnd) {
  {
    const auto first = TargetLock::Acquire(Nobody(), "first");
    ASSERT_TRUE(first.ok());
  }
  EXPECT_TRUE(TargetLock::Acquire(Nobody(), "second").ok());
}

TEST(TargetLockTest, ASessionWaitsForARecovery) {
  auto recovery = TargetLock::Acquire(Nobody(), kRecovery);
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  auto session = std::async(std::launch::async, [] { return TargetLock::Acquire(Nobody(), "me"); });
  EXPECT_EQ(session.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  recovery = absl::CancelledError();  // over
  EXPECT_TRUE(session.get().ok());
}

TEST(TargetLockTest, SessionAndRecoveryWaitForADoctor) {
  for (const char* holder : {"me", kRecovery, kDoctor}) {
    auto doctor = TargetLock::Acquire(Nobody(), kDoctor);
    ASSERT_TRUE(doctor.ok()) << doctor.status();
    auto other =
        std::async(std::launch::async, [&] { return TargetLock::Acquire(Nobody(), holder); });
    EXPECT_EQ(other.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
    doctor = absl::CancelledError();  // over
    EXPECT_TRUE(other.get().ok()) << holder;
  }
}

TEST(TargetLockTest, ARecoveryWaitsForNoOther) {
  const auto first = TargetLock::Acquire(Nobody(), kRecovery);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(absl::IsAlreadyExists(TargetLock::Acquire(Nobody(), kRecovery).status()));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

// Which takes each for a moment. What a killed daemon left in it says that a session has it.
TEST(TargetLockTest, ADaemonThatRemovesStaleOnesIsNoHolder) {
  const std::string path = "/run/sbumpd/locks/" + ToString(Nobody()).replace(7, 1, "-");
  std::atomic<bool> over = false;
  std::thread daemon([&] {
    while (!over) TargetLock::RemoveStale();
  });
  for (int i = 0; i < 300; ++i) {
    std::ofstream(path) << "session s1 of sbumpctl (pid 77)";
    const absl::Status status = TargetLock::Acquire(Nobody(), kRecovery).status();
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) break;
  }
  over = true;
  daemon.join();
}

TEST(TargetLockTest, AMovedLockIsStillHeld) {
  auto first = TargetLock::Acquire(Nobody(), "first");
  const TargetLock moved = *std::move(first);
  first = absl::CancelledError();
  EXPECT_TRUE(absl::IsAlreadyExists(TargetLock::Acquire(Nobody(), "second").status()));
}

struct Shared {
  std::atomic<int> locked = 0;
};

TEST(TargetLockTest, AKilledDaemonHoldsNothing) {
  const TargetId id = Nobody();
  auto& shared = SharedWithChildren<Shared>();
  Child daemon([&] {
    const auto lock = TargetLock::Acquire(id, "a daemon that is killed");
    shared.locked = lock.ok() ? 1 : 2;
    pause();
  });
  ASSERT_TRUE(Eventually([&] { return shared.locked != 0; }));
  ASSERT_EQ(shared.locked, 1);
  EXPECT_TRUE(absl::IsAlreadyExists(TargetLock::Acquire(id, "me").status()));
  daemon.Kill();
  EXPECT_TRUE(TargetLock::Acquire(id, "me").ok());
}

}  // namespace
}  // namespace sbump
