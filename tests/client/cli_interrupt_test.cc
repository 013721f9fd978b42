// Ctrl-C, SIGTERM and a reader that went away.
#include <signal.h>

#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/child.h"
#include "tests/client/fake_control.h"
#include "tests/client/samples.h"

namespace sbump::test {
namespace {

using ::testing::HasSubstr;

Script UntilDetached() {
  Script script;
  script.attach.first = {Attaching(), Active(1, 10)};
  script.attach.wait_for_detach = true;
  script.attach.last = {Ended(2, 777, "detached")};
  return script;
}

std::vector<std::string> Words(const FakeControl& daemon, std::vector<std::string> more = {}) {
  std::vector<std::string> words = {SbumpctlPath(),  "--endpoint", daemon.endpoint(),
                                    "attach",        "4242",       "--target",
                                    "*:Engine.step", "--delay",    "10us"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void WaitForRequest(const FakeControl& daemon) {
  while (daemon.requests().attach.empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// Its first update comes late.
Script SlowToBegin() {
  Script script = UntilDetached();
  script.attach.silence = std::chrono::milliseconds(300);
  return script;
}

// It never says a word.
Script Silent() {
  Script script;
  script.attach.wait_for_cancel = true;
  return script;
}

// Once it has asked for the session.
ChildResult Interrupted(const FakeControl& daemon, std::vector<std::string> more = {}) {
  Child child(Words(daemon, std::move(more)), {});
  WaitForRequest(daemon);
  child.Signal(SIGINT);
  return child.Wait();
}

TEST(Interrupt, FirstOneGetsTheLastUpdate) {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    FakeControl daemon(UntilDetached());
    Child child(Words(daemon), {});
    ASSERT_TRUE(child.WaitForOutput("ACTIVE"));
    child.Signal(signal_number);
    const ChildResult result = child.Wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("777"));
    EXPECT_THAT(result.out, HasSubstr("detach proof: 0 links left"));
    ASSERT_EQ(daemon.requests().detach.size(), 1u);
    EXPECT_EQ(daemon.requests().detach[0].session_id(), "s-1");
    EXPECT_EQ(daemon.requests().cancelled_streams, 0);
  }
}

// `sbumpctl attach ... &` in a script: the shell starts it with SIGINT ignored.
TEST(Interrupt, CountsEvenWhereTheShellHadItIgnored) {
  FakeControl daemon(UntilDetached());
  std::vector<std::string> words = {"/bin/bash", "-c", "trap '' INT; exec \"$@\"", "bash"};
  for (const std::string& word : Words(daemon)) words.push_back(word);
  Child child(words, {});
  ASSERT_TRUE(child.WaitForOutput("ACTIVE"));
  child.Signal(SIGINT);
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("detach proof"));
}

TEST(Interrupt, OnATerminalTheSummaryFollowsTheTable) {
  FakeControl daemon(UntilDetached());
  ChildOptions options;
  options.terminal = true;
  Child child(Words(daemon), options);
  ASSERT_TRUE(child.WaitForOutput("Ctrl-C ends the session"));
  child.Signal(SIGINT);
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("detaching; Ctrl-C again gives up waiting"));
  EXPECT_THAT(result.out, HasSubstr("detach proof"));
}

TEST(Interrupt, JsonHasItsEndToo) {
  FakeControl daemon(UntilDetached());
  Child child(Words(daemon, {"--format", "json"}), {});
  ASSERT_TRUE(child.WaitForOutput("\"ACTIVE\""));
  child.Signal(SIGINT);
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"reason\":\"detached\""));
}

TEST(Interrupt, SecondOneGivesUp) {
  Script script = UntilDetached();
  script.attach.wait_for_detach = false;  // a daemon that never gets done
  script.attach.wait_for_cancel = true;
  FakeControl daemon(script);
  Child child(Words(daemon), {});
  ASSERT_TRUE(child.WaitForOutput("ACTIVE"));
  child.Signal(SIGINT);
  while (daemon.requests().detach.empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  child.Signal(SIGINT);
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("given up before the daemon had detached"));
  EXPECT_THAT(result.out, HasSubstr("last known figures"));
}

TEST(Interrupt, BeforeTheSessionBeganCancels) {
  FakeControl daemon(Silent());
  const ChildResult result = Interrupted(daemon);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("before the daemon began a session"));
}

// Its id is on the way: the session is ended by it, and its proof is seen.
TEST(Interrupt, AsTheSessionBeginsGetsTheLastUpdate) {
  FakeControl daemon(SlowToBegin());
  const ChildResult result = Interrupted(daemon);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("detach proof: 0 links left"));
  EXPECT_EQ(daemon.requests().detach.size(), 1u);
  EXPECT_EQ(daemon.requests().cancelled_streams, 0);
}

TEST(Interrupt, SecondOneBeforeTheSessionBeganWaitsNoLonger) {
  FakeControl daemon(Silent());
  Child child(Words(daemon), {});
  WaitForRequest(daemon);
  const auto begin = std::chrono::steady_clock::now();
  child.Signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  child.Signal(SIGINT);
  EXPECT_EQ(child.Wait().exit_code, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
}

TEST(Interrupt, LeavesAKeptSessionRunning) {
  FakeControl daemon(UntilDetached());
  Child child(Words(daemon, {"--keep"}), {});
  ASSERT_TRUE(child.WaitForOutput("ACTIVE"));
  child.Signal(SIGINT);
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("session s-1 goes on"));
  EXPECT_TRUE(daemon.requests().detach.empty());
}

TEST(Interrupt, LeavesAKeptSessionThatHasJustBegun) {
  FakeControl daemon(SlowToBegin());
  const ChildResult result = Interrupted(daemon, {"--keep"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("session s-1 goes on"));
}

TEST(Interrupt, ADaemonThatDoesNotAnswerMayBeginAKeptSessionYet) {
  FakeControl daemon(Silent());
  const ChildResult result = Interrupted(daemon, {"--keep"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("what it may begin yet goes on"));
}

TEST(Interrupt, WatchingEndsButNotTheSession) {
  Script script;
  script.watch = UntilDetached().attach;
  FakeControl daemon(script);
  Child child({SbumpctlPath(), "--endpoint", daemon.endpoint(), "watch", "s-1"}, {});
  ASSERT_TRUE(child.WaitForOutput("ACTIVE"));
  child.Signal(SIGINT);
  EXPECT_EQ(child.Wait().exit_code, 0);
  EXPECT_TRUE(daemon.requests().detach.empty());
}

TEST(Interrupt, DetachThatFailsLeavesInstead) {
  Script script = UntilDetached();
  script.attach.wait_for_detach = false;
  script.attach.wait_for_cancel = true;
  script.status = absl::PermissionDeniedError("not yours");
  FakeControl daemon(script);
  Child child(Words(daemon), {});
  ASSERT_TRUE(child.WaitForOutput("ACTIVE"));
  child.Signal(SIGINT);
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("cannot detach: not yours"));
}

// `sbumpctl attach ... | head`
TEST(Interrupt, ReaderThatWentAwayEndsTheSession) {
  Script script = UntilDetached();
  for (uint64_t second = 2; second < 40; ++second) {
    script.attach.first.push_back(Active(second, second * 100));
  }
  script.attach.pause = std::chrono::milliseconds(10);
  FakeControl daemon(script);
  Child child(Words(daemon), {});
  ASSERT_TRUE(child.WaitForOutput("ACTIVE"));
  child.CloseOutput();
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("standard output: Broken pipe"));
  EXPECT_EQ(daemon.requests().detach.size(), 1u);
}

}  // namespace
}  // namespace sbump::test
