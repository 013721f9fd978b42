// sbumpctl sweep and rank: the question, Ctrl-C at each point of them, and what ends them badly.
#include <signal.h>

#include <filesystem>
#include <functional>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/child.h"
#include "tests/client/fake_control.h"
#include "tests/client/samples.h"

namespace sbump::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kInvalid = 16, kGuardrail = 15;

// ---- What a daemon says ----

v1::RunReply Plan() {
  v1::RunReply reply;
  v1::ExperimentPlan& plan = *reply.mutable_plan();
  v1::ExperimentPlan::Group& group = *plan.add_groups();
  group.set_name("targets");
  group.set_role(v1::TESTED);
  group.set_hits_per_unit(2);
  plan.add_arms()->set_kind(v1::SHAM);
  plan.mutable_arms(0)->add_delay_ns(0);
  plan.add_arms()->set_kind(v1::DOSE);
  plan.mutable_arms(1)->add_delay_ns(50'000);
  plan.set_blocks(12);
  plan.set_window_ns(kSecondNs);
  plan.set_duration_ns(30 * kSecondNs);
  plan.set_unit_ns(1e6);
  return reply;
}

v1::RunReply Window(v1::ExperimentPhase phase) {
  v1::RunReply reply;
  reply.mutable_window()->set_phase(phase);
  reply.mutable_window()->set_units(10);
  return reply;
}

v1::RunReply Answer(const std::string& name, v1::Verdict verdict, bool partial = false) {
  v1::RunReply reply;
  v1::GroupResult& result = *reply.mutable_result()->add_results();
  result.set_name(name);
  result.set_role(v1::TESTED);
  result.set_verdict(verdict);
  result.set_criticality(verdict == v1::MATTERS ? 1 : 0);
  result.set_ci_low(result.criticality() - 0.01);
  result.set_ci_high(result.criticality() + 0.01);
  result.set_hits_per_unit(2);
  result.set_blocks(12);
  result.set_p_familywise(verdict == v1::MATTERS ? 0.001 : 1);
  reply.mutable_result()->set_partial(partial);
  return reply;
}

v1::RunReply Over() {
  v1::RunReply reply;
  *reply.mutable_session() = Ended(5, 100, "stopped by its client");
  return reply;
}

// Until it is stopped, then what it knows.
ExperimentScript UntilStopped(const std::string& name) {
  return {.first = {Plan(), Window(v1::MAIN)},
          .wait_for_stop = true,
          .last = {Answer(name, v1::MATTERS, true), Over()}};
}

ExperimentScript Whole(const std::string& name, v1::Verdict verdict) {
  return {.first = {Plan(), Window(v1::MAIN)}, .last = {Answer(name, verdict), Over()}};
}

// ---- What a user does ----

std::vector<std::string> Sweep(const FakeControl& daemon, std::vector<std::string> more) {
  std::vector<std::string> words = {SbumpctlPath(), "--endpoint",  daemon.endpoint(), "sweep",
                                    "--pid",        "4242",        "--target",        "*:parse",
                                    "--metric",     "calls:*:step"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<std::string> SweepWithoutAsking(const FakeControl& daemon) {
  return Sweep(daemon, {"--yes", "--format", "json"});
}

FakeControl OneExperiment(ExperimentScript experiment) {
  Script script;
  script.experiments = {std::move(experiment)};
  return FakeControl(std::move(script));
}

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

TEST(ExperimentFlags, PercentagesMayHaveTheirSign) {
  FakeControl daemon = OneExperiment(Whole("targets", v1::MATTERS));
  std::vector<std::string> words = SweepWithoutAsking(daemon);
  words.insert(words.end(), {"--mde", "2%", "--top-share", "20%", "--lowest-throughput", "50"});
  EXPECT_EQ(Child(words, {}).Wait().exit_code, 0);
  const v1::Experiment asked = daemon.requests().experiments.at(0);
  EXPECT_DOUBLE_EQ(asked.smallest_effect(), 0.02);
  EXPECT_DOUBLE_EQ(asked.top_share(), 0.2);
  EXPECT_DOUBLE_EQ(asked.lowest_throughput(), 0.5);
}

// On the wire it would be the default.
TEST(ExperimentFlags, ZeroIsNoValue) {
  FakeControl daemon = OneExperiment({});
  for (const std::string flag :
       {"--budget", "--max-delay", "--mde", "--margin", "--top-share", "--lowest-throughput"}) {
    std::vector<std::string> words = SweepWithoutAsking(daemon);
    words.insert(words.end(), {flag, flag == "--budget" || flag == "--max-delay" ? "0s" : "0"});
    const ChildResult result = Child(words, {}).Wait();
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(flag + " 0: it must be above 0"));
  }
  EXPECT_TRUE(daemon.requests().experiments.empty());
}

TEST(ExperimentFlags, ControlsAreNamedByTheirPatterns) {
  FakeControl daemon = OneExperiment(Whole("targets", v1::MATTERS));
  std::vector<std::string> words = SweepWithoutAsking(daemon);
  words.insert(words.end(), {"--positive-control", "*:gate", "--negative-control", "*:a",
                             "--negative-control", "*:b"});
  EXPECT_EQ(Child(words, {}).Wait().exit_code, 0);
  const v1::Experiment asked = daemon.requests().experiments.at(0);
  ASSERT_EQ(asked.groups_size(), 3);
  EXPECT_EQ(asked.groups(1).name(), "*:gate");
  EXPECT_EQ(asked.groups(1).role(), v1::POSITIVE_CONTROL);
  EXPECT_EQ(asked.groups(2).name(), "*:a, *:b");
  EXPECT_EQ(asked.groups(2).role(), v1::NEGATIVE_CONTROL);
}

std::vector<std::string> WithGroups(const FakeControl& daemon, std::vector<std::string> more) {
  std::vector<std::string> words = {
      SbumpctlPath(), "--endpoint", daemon.endpoint(), "sweep",    "--pid",    "4242",
      "--metric",     "calls:*:s",  "--yes",           "--group",  "left=*:l", "--group",
      "other=*:o",    "--group",    "right=*:r",       "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// What is not to be slowed is not, in whichever group.
TEST(ExperimentFlags, WhatIsExcludedIsSoInNamedGroups) {
  FakeControl daemon = OneExperiment(Whole("targets", v1::MATTERS));
  const auto ask = [&](std::vector<std::string> more) {
    return Child(WithGroups(daemon, std::move(more)), {}).Wait();
  };
  EXPECT_EQ(ask({"--exclude", "*:safe", "--paths-only"}).exit_code, 0);
  const v1::Experiment asked = daemon.requests().experiments.at(0);
  for (const v1::TargetGroup& group : asked.groups()) {
    EXPECT_THAT(group.selection().exclude(), testing::ElementsAre("*:safe")) << group.name();
    EXPECT_TRUE(group.selection().paths_only());
  }
  const ChildResult result = ask({"--module-exclude", "top.*"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("are about --module, and there is none"));
}

TEST(ExperimentFlags, WhichTwoGroupsAreSlowedTogether) {
  FakeControl daemon = OneExperiment(Whole("left", v1::MATTERS));
  const auto words = WithGroups(daemon, {"--factorial", "right,left", "--negative-control", "*:n"});
  EXPECT_EQ(Child(words, {}).Wait().exit_code, 0);
  const v1::Experiment asked = daemon.requests().experiments.at(0);
  ASSERT_EQ(asked.groups_size(), 4);
  EXPECT_TRUE(asked.factorial());
  EXPECT_EQ(asked.groups(0).name() + asked.groups(1).name(), "rightleft");
}

TEST(ExperimentFlags, TwoGroupsThatAreNotThere) {
  FakeControl daemon = OneExperiment({});
  for (const auto& [value, words] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--factorial", "left,none"}, "there is no group \"none\""},
           {{"--factorial", "left,left"}, "there is no group \"left\", or it is named twice"},
           {{"--factorial", "left"}, "write the names of two groups"},
           {{"--factorial"}, "there are 3"}}) {
    const ChildResult result = Child(WithGroups(daemon, value), {}).Wait();
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_THAT(result.err, HasSubstr(words));
  }
  EXPECT_TRUE(daemon.requests().experiments.empty());
}

// ---- What ends it badly ----

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
