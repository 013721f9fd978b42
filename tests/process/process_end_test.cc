#include "daemon/process/process_end.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "tests/process/child.h"

namespace sbump {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ProcessEndTest : public testing::Test {
 protected:
  Child child_{[] { pause(); }};
  const pid_t pid_ = child_.pid();
  const TargetId id_ = TargetProcess::Open(pid_)->id();
};

TEST_F(ProcessEndTest, OneThatRunsOn) {
  const absl::Status status = AwaitProcessEnd(id_, milliseconds(20));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(kill(pid_, 0), 0);
}

TEST_F(ProcessEndTest, OneThatEndsMeanwhile) {
  std::thread killer([&] {
    std::this_thread::sleep_for(milliseconds(50));
    kill(pid_, SIGKILL);
  });
  EXPECT_TRUE(AwaitProcessEnd(id_, seconds(20)).ok());
  EXPECT_TRUE(AwaitProcessEnd(id_, milliseconds(0)).ok()) << "its parent has not collected it";
  killer.join();
}

TEST_F(ProcessEndTest, OneThatIsGone) {
  child_.Kill();
  EXPECT_TRUE(AwaitProcessEnd(id_, milliseconds(0)).ok());
}

TEST_F(ProcessEndTest, AnotherThatHasThePidNow) {
  const TargetId earlier{.pid = pid_, .start_ticks = id_.start_ticks - 1};
  EXPECT_TRUE(AwaitProcessEnd(earlier, milliseconds(0)).ok());
}

}  // namespace
}  // namespace sbump
