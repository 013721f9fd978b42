#include "daemon/process/target_process.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <string>
#include <thread>

#include "tests/process/child.h"

namespace sbump {
namespace {

struct Shared {
  std::atomic<pid_t> tid = 0;
};

TEST(ProcStatTest, TheCommandNameMayHoldAnything) {
  const auto stat = ParseProcStat(
      "77 (a) R 1 (b) S 1 77 77 0 -1 4194560 115 0 0 0 0 0 0 0 20 0 1 0 987654 2228224 200\n");
  ASSERT_TRUE(stat.ok()) << stat.status();
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->flags, 4194560u);
  EXPECT_EQ(stat->start_ticks, 987654u);
}

TEST(ProcStatTest, AShortOrStrangeLineIsAnError) {
  for (const char* text :
       {"", "1", "1 (x)", "1 (x) S", "1 (x) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0",
        "1 (x) S 1 1 1 0 -1 flags 1 0 0 0 0 0 0 0 20 0 1 0 5 6",
        "1 (x) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 -5 6",
        "1 (x)S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 5 6"}) {
    EXPECT_TRUE(absl::IsDataLoss(ParseProcStat(text).status())) << text;
  }
}

TEST(TargetProcessTest, TicksAreOnTheClockOfItsStart) {
  const uint64_t before = TicksNow();
  const Child child([] { pause(); });
  const uint64_t after = TicksNow();
  const auto process = TargetProcess::Open(child.pid());
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_GE(process->id().start_ticks, before);
  EXPECT_LE(process->id().start_ticks, after);
  EXPECT_GT(before, 0u);
}

TEST(TargetProcessTest, KnowsAChildUntilItEnds) {
  Child child([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(process->pid(), child.pid());
  EXPECT_GT(process->id().start_ticks, 0u);
  EXPECT_TRUE(process->Alive());
  EXPECT_EQ(*process->ReadProcFile("comm", 100),
            *TargetProcess::Open(child.pid())->ReadProcFile("comm", 100));
  EXPECT_TRUE(absl::IsResourceExhausted(process->ReadProcFile("status", 10).status()));
  EXPECT_TRUE(absl::IsNotFound(process->ReadProcFile("no_such_file", 10).status()));
  EXPECT_NE(process->ExePath()->find("target_process_test"), std::string::npos);
  child.Kill();
  EXPECT_FALSE(process->Alive());
  EXPECT_FALSE(process->ReadProcFile("comm", 100).ok());
}

TEST(TargetProcessTest, AZombieIsNoTarget) {
  Child child([] {});
  const auto refused = [&] { return TargetProcess::Open(child.pid()).status(); };
  // A sanitizer's thread may end after its first one.
  EXPECT_TRUE(Eventually([&] {
    return absl::IsUnimplemented(refused()) &&
           refused().message().find("is a zombie") != absl::string_view::npos;
  })) << refused();
}

TEST(TargetProcessTest, APidThatNobodyHasIsNotFound) {
  Child child([] {});
  const pid_t pid = child.pid();
  child.Wait();
  const absl::Status status = TargetProcess::Open(pid).status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_EQ(std::string(status.message()), "pid " + std::to_string(pid) + ": no such process");
}

TEST(TargetProcessTest, AThreadIsNamedWithItsProcess) {
  auto& shared = SharedWithChildren<Shared>();
  Child child([&] {
    std::thread([&] {
      shared.tid = static_cast<pid_t>(syscall(SYS_gettid));
      pause();
    }).join();
  });
  ASSERT_TRUE(Eventually([&] { return shared.tid != 0; }));
  const absl::Status status = TargetProcess::Open(shared.tid).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_NE(std::string(status.message()).find("process " + std::to_string(child.pid())),
            std::string::npos)
      << status;
}

TEST(TargetProcessTest, NonsenseAndItselfAreInvalid) {
  for (const pid_t pid : {0, -1, getpid()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(TargetProcess::Open(pid).status())) << pid;
  }
  Child helper([] { pause(); });
  EXPECT_TRUE(TargetProcess::Open(helper.pid()).ok());
  SetOwnHelper(helper.pid());
  EXPECT_TRUE(absl::IsInvalidArgument(TargetProcess::Open(helper.pid()).status()));
  SetOwnHelper(0);
}

}  // namespace
}  // namespace sbump
