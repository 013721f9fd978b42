#include "daemon/session/stopped_walk.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/process/child.h"

namespace sbump {
namespace {

// How often a stop is tried that always fails so.
int TriesOf(const absl::Status& failure) {
  const Child child([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  const auto memory = RemoteMemory::Open(process->proc_dirfd(), child.pid());
  const Interpreter interpreter;
  WalkTurn turn;
  SessionTimes times;
  int tries = 0;
  const absl::Status status = StopAndWalk(
      {.process = *process, .memory = *memory, .interpreter = interpreter, .walk_turn = turn},
      {.stop = [&]() -> absl::StatusOr<PtraceStop> {
        ++tries;
        return failure;
      }},
      times);
  EXPECT_EQ(status, failure);
  EXPECT_EQ(times.stops, absl::IsDeadlineExceeded(failure) ? tries : 0)
      << "threads stood still for each";
  return tries;
}

TEST(StoppedWalkTest, AProcessThatDidNotStopInTimeIsTriedAgain) {
  EXPECT_EQ(TriesOf(absl::DeadlineExceededError("did not stop")), 3);
}

TEST(StoppedWalkTest, AnotherFailureIsTheAnswer) {
  EXPECT_EQ(TriesOf(absl::NotFoundError("has ended")), 1);
  EXPECT_EQ(TriesOf(absl::FailedPreconditionError("is traced by strace")), 1);
}

}  // namespace
}  // namespace sbump
