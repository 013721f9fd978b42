// sbumpctl sweep and rank: the question, Ctrl-C at each point of them, and what ends them badly.
#include <signal.h>

#include <filesystem>
#include <functional>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/child.h"
#include "tests/client/experiment_scripts.h"
#include "tests/client/fake_control.h"
#include "tests/client/samples.h"

namespace sbump::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kInvalid = 16, kGuardrail = 15;

ExperimentScript Asking() {
  return {.first = {Plan()},
          .wait_for_approval = true,
          .last = {Answer("targets", v1::MATTERS), Over()}};
}

ChildOptions OnATerminal() {
  ChildOptions options;
  options.terminal = options.terminal_input = true;
  return options;
}

// `answer` is typed, or Ctrl-C where it is empty.
ChildResult Answered(const FakeControl& daemon, const std::string& answer) {
  Child child(Sweep(daemon, {}), OnATerminal());
  EXPECT_TRUE(child.WaitForOutput("Go on? [y/N]"));
  if (answer.empty())
    child.Signal(SIGINT);
  else
    child.Type(answer);
  return child.Wait();
}

// False where it does not within some seconds.
bool Comes(const std::function<bool()>& is_there) {
  for (int i = 0; i < 2'000 && !is_there(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return is_there();
}

// ---- The question ----

TEST(ExperimentQuestion, Yes) {
  FakeControl daemon = OneExperiment(Asking());
  const ChildResult result = Answered(daemon, "y\n");
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("MATTERS"));
  EXPECT_THAT(daemon.requests().approvals, ElementsAre(true));
  EXPECT_TRUE(daemon.requests().experiments.at(0).asks_first());
}

TEST(ExperimentQuestion, No) {
  for (const std::string answer : {"n\n", "\n", "\x04", ""}) {  // ^D; Ctrl-C
    FakeControl daemon = OneExperiment(Asking());
    const ChildResult result = Answered(daemon, answer);
    EXPECT_EQ(result.exit_code, 16) << result.out;
    EXPECT_THAT(result.out, Not(HasSubstr("MATTERS")));
    EXPECT_THAT(daemon.requests().approvals, ElementsAre(false));
  }
}

// ---- What cannot be written ----

// As on a disk that is full: nobody is slowed for what is lost.
TEST(ExperimentOutput, WhatCannotBeWrittenEndsIt) {
  FakeControl daemon = OneExperiment(UntilStopped("targets"));
  Child child(Sweep(daemon, {"--yes", "-o", "/dev/full"}), {});
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("/dev/full"));
  EXPECT_EQ(daemon.requests().stops, 1);
}

TEST(ExperimentOutput, WhereNothingCanBeWrittenNothingMoreIsBegun) {
  Script script;
  script.experiments = {Whole("targets", v1::MATTERS), UntilStopped("targets")};
  const FakeControl daemon(std::move(script));
  std::vector<std::string> words = {"/bin/sh", "-c", "exec \"$@\" > /dev/full", "sh"};
  for (const std::string& word : Sweep(daemon, {"--yes", "--confirm", "--budget", "5m"}))
    words.push_back(word);
  Child child(words, {});
  EXPECT_EQ(child.Wait().exit_code, 1);
  EXPECT_EQ(daemon.requests().experiments.size(), 1u);
}

// ---- Ctrl-C in a sweep ----

TEST(ExperimentInterrupt, SaysWhatItKnows) {
  FakeControl daemon = OneExperiment(UntilStopped("targets"));
  Child child(SweepWithoutAsking(daemon), {});
  ASSERT_TRUE(child.WaitForOutput("\"MAIN\""));
  child.Signal(SIGINT);
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"partial\":true"));
  EXPECT_EQ(daemon.requests().stops, 1);
  EXPECT_EQ(daemon.requests().cancelled_streams, 0);
}

TEST(ExperimentInterrupt, BeforeAnythingWasMeasured) {
  FakeControl daemon = OneExperiment(
      {.first = {Window(v1::PILOT)}, .wait_for_stop = true, .status = absl::CancelledError("")});
  Child child(SweepWithoutAsking(daemon), {});
  ASSERT_TRUE(child.WaitForOutput("\"PILOT\""));
  child.Signal(SIGINT);
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, kInvalid);
  EXPECT_THAT(result.err, HasSubstr("stopped before anything was measured"));
}

// Of two answers the first one is whole.
TEST(ExperimentInterrupt, InTheConfirmationKeepsTheFirstAnswer) {
  for (const bool in_pilot : {true, false}) {
    Script script;
    ExperimentScript second = {
        .first = {Window(v1::PILOT)}, .wait_for_stop = true, .status = absl::CancelledError("")};
    if (!in_pilot)
      second = {.first = {Plan(), Window(v1::MAIN)},
                .wait_for_stop = true,
                .last = {Answer("targets", v1::INVALID, true), Over()}};
    script.experiments = {Whole("targets", v1::MATTERS), std::move(second)};
    const FakeControl daemon(std::move(script));
    Child child(Sweep(daemon, {"--yes", "--format", "json", "--confirm", "--budget", "5m"}), {});
    EXPECT_TRUE(Comes([&] { return daemon.requests().experiments.size() == 2; }));
    child.Signal(SIGINT);
    const ChildResult result = child.Wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("\"verdict\":\"MATTERS\""));
  }
}

TEST(ExperimentInterrupt, SecondOneGivesUp) {
  FakeControl daemon =
      OneExperiment({.first = {Plan(), Window(v1::MAIN)}, .wait_for_cancel = true});
  Child child(SweepWithoutAsking(daemon), {});
  ASSERT_TRUE(child.WaitForOutput("\"MAIN\""));
  child.Signal(SIGINT);
  EXPECT_TRUE(Comes([&] { return daemon.requests().stops > 0; }));
  child.Signal(SIGINT);
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, kInvalid);
  EXPECT_THAT(result.err, HasSubstr("given up before the daemon had said what it knows"));
  EXPECT_TRUE(Comes([&] { return daemon.requests().cancelled_streams == 1; }));
}

// The answer is there, and the daemon takes its time to detach.
TEST(ExperimentInterrupt, WhatWasSaidIsKeptWhenItIsGivenUp) {
  FakeControl daemon =
      OneExperiment({.first = {Plan(), Answer("targets", v1::MATTERS, true), Window(v1::MAIN)},
                     .wait_for_cancel = true});
  Child child(SweepWithoutAsking(daemon), {});
  ASSERT_TRUE(child.WaitForOutput("\"MAIN\""));
  child.Signal(SIGINT);
  EXPECT_TRUE(Comes([&] { return daemon.requests().stops > 0; }));
  child.Signal(SIGINT);
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("\"verdict\":\"MATTERS\""));
  EXPECT_THAT(result.err, HasSubstr("given up before the daemon had detached"));
}

// ---- What is asked ----

TEST(ExperimentFailure, Guardrail) {
  FakeControl daemon = OneExperiment(
      {.first = {Plan()}, .status = absl::AbortedError("guardrail: the throughput is 5 %")});
  const ChildResult result = Child(SweepWithoutAsking(daemon), {}).Wait();
  EXPECT_EQ(result.exit_code, kGuardrail);
  EXPECT_THAT(result.err, HasSubstr("the throughput is 5 %"));
}

TEST(ExperimentFailure, ADaemonThatSaysNothing) {
  FakeControl daemon = OneExperiment({});
  const ChildResult result = Child(SweepWithoutAsking(daemon), {}).Wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("without an answer"));
}

// ---- Ctrl-C in a ranking ----

v1::TargetStats Called(const std::string& module, const std::string& function) {
  v1::TargetStats row = Stats(function, 100, 0);
  row.set_filename("/srv/shop/" + module + ".py");
  row.add_module_names("shop." + module);
  return row;
}

// More than one experiment has room for: modules come first.
v1::SessionUpdate Look() {
  v1::SessionUpdate update = Ended(1, 0, "duration over");
  update.clear_targets();
  for (int i = 0; i < 40; ++i) {
    *update.add_targets() = Called("orders", "f" + std::to_string(i));
    *update.add_targets() = Called("users", "g" + std::to_string(i));
  }
  return update;
}

std::string LastLine(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  const size_t begin = text.rfind('\n', end);
  return text.substr(begin + 1, end - begin);
}

class ExperimentRank : public ::testing::Test {
 protected:
  FakeControl Daemon(std::vector<ExperimentScript> experiments) {
    Script script;
    script.attach.last = {Look()};
    script.experiments = std::move(experiments);
    return FakeControl(std::move(script));
  }

  std::vector<std::string> Words(const FakeControl& daemon) const {
    return {SbumpctlPath(), "--endpoint", daemon.endpoint(), "rank", "--pid",    "4242", "--metric",
            "calls:*:step", "--yes",      "--format",        "json", "--budget", "10m",  "--output",
            file_};
  }

  // Once the last of so many experiments has begun.
  ChildResult InterruptedIn(const FakeControl& daemon, size_t experiments) {
    Child child(Words(daemon), {});
    EXPECT_TRUE(Comes([&] { return daemon.requests().experiments.size() >= experiments; }));
    child.Signal(SIGINT);
    return child.Wait();
  }

  SocketDirectory directory_;
  const std::string file_ = directory_.file("rank.sbump");
};

TEST_F(ExperimentRank, InTheSecondExperimentKeepsTheFirst) {
  FakeControl daemon = Daemon({Whole("shop.orders", v1::MATTERS), UntilStopped("shop.orders:f3")});
  const ChildResult result = InterruptedIn(daemon, 2);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string ranking = LastLine(result.out);
  EXPECT_THAT(ranking, HasSubstr("\"opened\":[{\"group\":{\"name\":\"shop.orders\""));
  EXPECT_THAT(ranking, HasSubstr("\"partial\":true"));
  EXPECT_EQ(daemon.requests().stops, 1);
  ASSERT_EQ(daemon.requests().experiments.size(), 2u) << "and no confirmation";
  EXPECT_EQ(daemon.requests().experiments[0].groups_size(), 2);
  EXPECT_EQ(daemon.requests().experiments[1].groups_size(), 32);
  EXPECT_EQ(daemon.requests().experiments[1].groups(0).part_of(), "shop.orders");
  EXPECT_EQ(daemon.requests().experiments[0].doses(), 3u) << "of few groups";
  EXPECT_EQ(daemon.requests().experiments[1].doses(), 2u);
  EXPECT_TRUE(std::filesystem::exists(file_));
}

TEST_F(ExperimentRank, InTheConfirmationKeepsTheList) {
  FakeControl daemon =
      Daemon({Whole("shop.orders", v1::MATTERS), Whole("shop.orders:f3", v1::MATTERS),
              UntilStopped("shop.orders:f3")});
  const ChildResult result = InterruptedIn(daemon, 3);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(LastLine(result.out), HasSubstr("\"name\":\"shop.orders:f3\""));
  ASSERT_EQ(daemon.requests().experiments.size(), 3u);
  EXPECT_EQ(daemon.requests().experiments[2].phase(), v1::CONFIRMATION);
  EXPECT_EQ(daemon.requests().experiments[2].groups(0).name(), "shop.orders:f3");
}

TEST_F(ExperimentRank, WhatTheBudgetDoesNotHoldIsNamed) {
  const ExperimentScript refused = {.first = {Window(v1::PILOT)},
                                    .status = absl::ResourceExhaustedError("a budget of 9s")};
  const FakeControl daemon = Daemon({Whole("shop.orders", v1::MATTERS), refused, refused, refused,
                                     refused, refused, Whole("shop.orders", v1::MATTERS)});
  const ChildResult result = Child(Words(daemon), {}).Wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string ranking = LastLine(result.out);
  EXPECT_THAT(ranking, HasSubstr("\"partial\":true"));
  EXPECT_THAT(ranking, HasSubstr("4 groups: parts of shop.orders: a budget of 9s"));
}

TEST_F(ExperimentRank, WhileItLooks) {
  Script script;
  script.attach.first = {Attaching()};
  script.attach.wait_for_cancel = true;
  FakeControl daemon(script);
  Child child(Words(daemon), {});
  EXPECT_TRUE(Comes([&] { return !daemon.requests().attach.empty(); }));
  child.Signal(SIGINT);
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, kInvalid);
  EXPECT_THAT(result.err, HasSubstr("nothing was tested yet"));
}

}  // namespace
}  // namespace sbump::test
