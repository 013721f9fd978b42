#include "daemon/process/seized_thread.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "tests/process/child.h"

namespace sbump {
namespace {

using State = SeizedThread::State;

TEST(SeizedThreadTest, StopsAndGoesOn) {
  const Child child([] {
    while (true) usleep(1000);
  });
  ASSERT_EQ(SeizedThread::Seize(child.pid()), 0);
  EXPECT_EQ(SeizedThread::Seize(child.pid()), EPERM);  // one tracer at a time
  SeizedThread thread(child.pid());
  EXPECT_TRUE(Eventually([&] { return thread.Look() == State::kStopped; }));
  EXPECT_EQ(thread.Look(), State::kStopped);
  thread.Detach();
  EXPECT_EQ(SeizedThread::Seize(child.pid()), 0);
}

TEST(SeizedThreadTest, OneThatIsKilledWhileItStandsStillIsSeenToEnd) {
  const Child child([] { pause(); });
  ASSERT_EQ(SeizedThread::Seize(child.pid()), 0);
  SeizedThread thread(child.pid());
  ASSERT_TRUE(Eventually([&] { return thread.Look() == State::kStopped; }));
  kill(child.pid(), SIGKILL);
  EXPECT_TRUE(Eventually([&] { return thread.Look() == State::kEnded; }));
}

TEST(SeizedThreadTest, ThereMustBeOne) { EXPECT_EQ(SeizedThread::Seize(0x3fffffff), ESRCH); }

}  // namespace
}  // namespace sbump
