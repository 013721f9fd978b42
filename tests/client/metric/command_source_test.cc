// cmd: with real shells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "client/metric/metric_source.h"
#include "client/metric/shell_command.h"
#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "tests/fakes/temp_dir.h"

namespace sbump {
namespace {

using testing::HasSubstr;

constexpr uint64_t kSecondNs = 1'000'000'000;

absl::StatusOr<MetricSample> Read(const std::string& command,
                                  uint64_t timeout_ns = 20 * kSecondNs) {
  return (*OpenMetric(ParseMetric("cmd:" + command).value(), {.timeout_ns = timeout_ns}))->Read();
}

TEST(CommandSourceTest, Numbers) {
  EXPECT_EQ(Read("echo 12")->value, 12);
  EXPECT_EQ(Read("printf ' \\t+3.5e2\\n\\n'")->value, 350);
  EXPECT_EQ(Read("echo a b | wc -w; echo talk >&2")->value, 2);
  EXPECT_EQ(Read("read x && echo 1 || echo 0")->value, 0);  // nothing to read
}

TEST(CommandSourceTest, WhatIsNoNumber) {
  for (const std::string& command : std::vector<std::string>{
           "true", "echo 1 2", "echo 1,000", "echo one", "echo 0x10", "printf '\\033[2J'"}) {
    const auto sample = Read(command);
    EXPECT_EQ(sample.status().code(), absl::StatusCode::kDataLoss) << command;
    EXPECT_THAT(std::string(sample.status().message()), HasSubstr("one number")) << command;
    EXPECT_THAT(std::string(sample.status().message()), testing::Not(HasSubstr("\033")));
  }
  EXPECT_EQ(Read("echo nan").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Read("echo inf").status().code(), absl::StatusCode::kDataLoss);
}

TEST(CommandSourceTest, WhatFails) {
  const auto why = [](const std::string& command) {
    const auto sample = Read(command);
    EXPECT_EQ(sample.status().code(), absl::StatusCode::kUnavailable) << command;
    return std::string(sample.status().message());
  };
  EXPECT_THAT(why("echo 1; exit 3"), HasSubstr("(exit status 3): it said nothing"));
  EXPECT_THAT(why("echo 'no such key' >&2; exit 1"), HasSubstr("(exit status 1): no such key"));
  EXPECT_THAT(why("kill -9 $$"), HasSubstr("(signal 9)"));
  EXPECT_THAT(why("no-such-program-here"), HasSubstr("exit status 127"));
}

TEST(CommandSourceTest, WhatPrintsWithoutEnd) {
  EXPECT_EQ(Read("yes 1").status().code(), absl::StatusCode::kDataLoss);
  const auto error = Read("yes 1 >&2", kSecondNs / 5);
  EXPECT_EQ(error.status().code(), absl::StatusCode::kDeadlineExceeded);
}

bool IsAlive(pid_t pid) { return kill(pid, 0) == 0; }

// The shell's number and that of what it started, which is killed too.
TEST(CommandSourceTest, WhatHangsIsKilledWithItsChildren) {
  const TempDir directory("command");
  const std::string pids = directory.path() + "/pids";
  const uint64_t begin_ns = MonotonicNs();
  const auto sample = Read(StrCat("sleep 300 & echo $! > ", pids, "; wait"), kSecondNs);
  EXPECT_LT(MonotonicNs() - begin_ns, 15 * kSecondNs);
  EXPECT_EQ(sample.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(sample.status().message()), HasSubstr("longer than 1s"));
  pid_t sleeper = 0;
  std::ifstream(pids) >> sleeper;
  ASSERT_GT(sleeper, 1);
  const uint64_t deadline_ns = MonotonicNs() + 20 * kSecondNs;
  while (IsAlive(sleeper) && MonotonicNs() < deadline_ns) std::this_thread::yield();
  EXPECT_FALSE(IsAlive(sleeper));
  unlink(pids.c_str());
}

// It holds the output open, which is not waited for.
TEST(CommandSourceTest, WhatIsLeftInTheBackgroundIsNotWaitedFor) {
  const uint64_t begin_ns = MonotonicNs();
  EXPECT_EQ(Read("sleep 300 & echo 5")->value, 5);
  EXPECT_LT(MonotonicNs() - begin_ns, 15 * kSecondNs);
}

TEST(CommandSourceTest, IsCancelledFromAnotherThread) {
  const TempDir directory("command");
  const std::string begun = directory.path() + "/begun";
  const auto source =
      *OpenMetric(ParseMetric(StrCat("cmd:echo x > ", begun, "; sleep 300")).value(),
                  {.timeout_ns = 60 * kSecondNs});
  std::thread canceller([&] {
    const uint64_t deadline_ns = MonotonicNs() + 20 * kSecondNs;
    while (access(begun.c_str(), F_OK) != 0 && MonotonicNs() < deadline_ns)
      std::this_thread::yield();
    source->Cancel();
  });
  const uint64_t begin_ns = MonotonicNs();
  EXPECT_EQ(source->Read().status().code(), absl::StatusCode::kCancelled);
  EXPECT_LT(MonotonicNs() - begin_ns, 40 * kSecondNs);
  canceller.join();
  EXPECT_EQ(source->Read().status().code(), absl::StatusCode::kCancelled);
  unlink(begun.c_str());
}

}  // namespace
}  // namespace sbump
