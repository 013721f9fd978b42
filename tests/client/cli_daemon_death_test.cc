// A daemon that dies mid-session. It is a process of its own here, so that it can really be killed;
// it is forked before this process starts any thread.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/child.h"
#include "tests/client/fake_control.h"
#include "tests/client/samples.h"

namespace sbump::test {
namespace {

using ::testing::HasSubstr;

// Serves until it is killed.
[[noreturn]] void Serve(const std::string& socket, int ready_fd) {
  Script script;
  script.attach.first = {Attaching(), Active(1, 10)};
  script.attach.wait_for_cancel = true;
  FakeControl daemon(script, socket);
  (void)!write(ready_fd, "r", 1);
  while (true) pause();
}

TEST(DaemonDeath, IsToldWithTheLastKnownFigures) {
  SocketDirectory directory;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t daemon = fork();
  if (daemon == 0) Serve(directory.socket(), ready[1]);
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);

  Child child({SbumpctlPath(), "--endpoint", "unix:" + directory.socket(), "attach", "4242",
               "--target", "*:Engine.step"},
              {});
  EXPECT_TRUE(child.WaitForOutput("ACTIVE"));
  kill(daemon, SIGKILL);
  waitpid(daemon, nullptr, 0);
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, 9) << result.err;
  EXPECT_THAT(result.err, HasSubstr("lost the daemon"));
  EXPECT_THAT(result.err, HasSubstr("full speed once the daemon's probes are gone"));
  EXPECT_THAT(result.out, HasSubstr("last known figures"));

  // The socket is still there, but nobody listens.
  const ChildResult after = RunSbumpctl({"--endpoint", "unix:" + directory.socket(), "list"});
  EXPECT_EQ(after.exit_code, 9);
  EXPECT_THAT(after.err, HasSubstr("connection refused"));
}

}  // namespace
}  // namespace sbump::test
