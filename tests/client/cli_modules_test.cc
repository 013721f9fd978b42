// sbumpctl modules.
#include <csignal>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/child.h"
#include "tests/client/fake_control.h"

namespace sbump::test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

ChildResult Ask(const FakeControl& daemon, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--endpoint", daemon.endpoint(), "modules"});
  return RunSbumpctl(arguments);
}

v1::Module* Add(v1::ListModulesReply& reply, const std::string& path, const std::string& type) {
  v1::Module* module = reply.add_modules();
  module->set_path(path);
  module->set_type(type);
  return module;
}

Script TwoPieces() {
  v1::ListModulesReply first, last;
  first.mutable_process()->set_pid(4242);
  first.mutable_process()->set_python_version("3.13.5");
  first.set_models(1);
  first.set_modules_seen(2);
  first.add_warnings("one module has two names");
  first.set_more(true);
  Add(first, "top", "Model");
  (*Add(last, "top.fc", "Linear")->mutable_static_params()->mutable_fields())["in_features"]
      .set_number_value(5);
  Script script;
  script.modules = {first, last};
  return script;
}

TEST(Modules, PrintsTheTreeOfAllPieces) {
  FakeControl daemon(TwoPieces());
  const ChildResult result = Ask(daemon, {"4242"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("top     Model\n"));
  EXPECT_THAT(result.out, HasSubstr("  fc    Linear"));
  EXPECT_THAT(result.out, HasSubstr("in_features=5"));
  EXPECT_THAT(result.out, HasSubstr("2 of 2 modules in 1 model of pid 4242 (python 3.13.5)"));
  EXPECT_THAT(result.out, HasSubstr("warning: one module has two names"));
}

TEST(Modules, JsonIsOneMergedLine) {
  FakeControl daemon(TwoPieces());
  const ChildResult result = Ask(daemon, {"-p", "4242", "--format", "json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1);
  EXPECT_THAT(result.out, StartsWith("{\"process\":{"));
  EXPECT_THAT(result.out, HasSubstr("\"path\":\"top.fc\""));
  EXPECT_THAT(result.out, HasSubstr("\"static_params\":{\"in_features\":5}"));
  EXPECT_THAT(result.out, HasSubstr("\"more\":false"));
}

// JSON has no number for it, and a module may well have an attribute of float("inf").
TEST(Modules, JsonOfASettingThatIsNoFiniteNumber) {
  Script script = TwoPieces();
  (*script.modules[0].mutable_modules(0)->mutable_static_params()->mutable_fields())["clip"]
      .set_number_value(std::numeric_limits<double>::infinity());
  FakeControl daemon(script);
  const ChildResult result = Ask(daemon, {"4242", "--format", "json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"clip\":\"Infinity\""));
  EXPECT_THAT(Ask(daemon, {"4242"}).out, HasSubstr("clip="));
}

TEST(Modules, SendsWhatIsNamedAndNoMore) {
  FakeControl daemon(TwoPieces());
  Ask(daemon, {"4242"});
  Ask(daemon, {"4242", "--module", "top.*", "--module", "type:Linear", "--prefix", "", "--root",
               "app.Stage", "--skip-type", "ReLU", "--no-skip", "--max-stop", "5ms", "--callable",
               "Wrapper", "--callable", "app.*", "--no-default-callables"});
  const Requests requests = daemon.requests();
  ASSERT_EQ(requests.modules.size(), 2u);
  v1::ListModulesRequest plain;
  plain.set_pid(4242);
  EXPECT_EQ(requests.modules[0].SerializeAsString(), plain.SerializeAsString());
  const v1::ListModulesRequest& all = requests.modules[1];
  EXPECT_THAT(all.patterns(), ElementsAre("top.*", "type:Linear"));
  EXPECT_TRUE(all.has_prefix());
  EXPECT_EQ(all.prefix(), "");
  EXPECT_EQ(all.root(), "app.Stage");
  EXPECT_THAT(all.skip_types(), ElementsAre("ReLU"));
  EXPECT_TRUE(all.no_default_skip_types());
  EXPECT_EQ(all.max_stop_ns(), 5'000'000u);
  EXPECT_THAT(all.callables(), ElementsAre("Wrapper", "app.*"));
  EXPECT_TRUE(all.no_default_callables());
}

TEST(Modules, NothingHasItsOwnStatus) {
  Script script;
  script.modules.emplace_back().set_modules_seen(7);
  FakeControl daemon(script);
  const ChildResult result = Ask(daemon, {"4242", "--module", "top.nothing"});
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_THAT(result.out, HasSubstr("0 of 7 modules"));
  EXPECT_THAT(result.err, HasSubstr("no module is matched by --module"));
}

TEST(Schedule, ASessionThatCannotBeWatchedIsSaid) {
  Script script = TwoPieces();
  script.list.add_sessions()->set_session_id("s7");
  script.watch.status = absl::PermissionDeniedError("it is of root");
  FakeControl daemon(script);
  const ChildResult result =
      RunSbumpctl({"--endpoint", daemon.endpoint(), "schedule", "list", "--pid", "4242"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("what session s7 does is not listed: it is of root"));
  script.watch.status = absl::NotFoundError("it has ended");
  FakeControl other(script);
  EXPECT_EQ(RunSbumpctl({"--endpoint", other.endpoint(), "schedule", "list", "--pid", "4242"}).err,
            "");
}

TEST(Modules, AnAnswerThatEndsBeforeItsLastPiece) {
  Script script = TwoPieces();
  script.modules.pop_back();
  const ChildResult result = Ask(FakeControl(script), {"4242"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("ended before its last piece"));
}

TEST(Modules, EachRefusalHasItsExitStatus) {
  const struct {
    absl::StatusCode code;
    int exit_code;
  } cases[] = {{absl::StatusCode::kNotFound, 4},
               {absl::StatusCode::kUnimplemented, 5},
               {absl::StatusCode::kPermissionDenied, 6},
               {absl::StatusCode::kFailedPrecondition, 13}};
  for (const auto& c : cases) {
    Script script;
    script.status = absl::Status(c.code, "pid 4242: because");
    const ChildResult result = Ask(FakeControl(script), {"4242"});
    EXPECT_EQ(result.exit_code, c.exit_code);
    EXPECT_THAT(result.err, HasSubstr("pid 4242: because"));
  }
  EXPECT_EQ(RunSbumpctl({"modules"}).exit_code, 2) << "of which process?";
}

// ---- --watch ----

// The tree and a change, in two pieces each.
Script TwoUpdates() {
  Script script;
  for (const v1::ListModulesReply& piece : TwoPieces().modules)
    *script.modules_updates.emplace_back().mutable_modules() = piece;
  for (const char* path : {"top.late", "top.later"}) {
    v1::ModulesChange& change = *script.modules_updates.emplace_back().mutable_change();
    change.add_appeared()->set_path(path);
    change.set_more(path == std::string("top.late"));
  }
  script.modules_updates.back().mutable_change()->add_vanished()->set_path("top.fc");
  return script;
}

TEST(ModulesWatch, PrintsTheTreeThenWhatIsDifferent) {
  Script script = TwoUpdates();
  script.status = absl::NotFoundError("pid 4242: gone");
  const ChildResult result = Ask(FakeControl(script), {"4242", "--watch"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, HasSubstr("pid 4242: gone"));
  EXPECT_THAT(result.out, HasSubstr("top     Model\n"));
  EXPECT_THAT(result.out, EndsWith("- top.fc  \n+ top.late  \n+ top.later  \n"));
}

TEST(ModulesWatch, JsonIsALineOfEach) {
  const ChildResult result =
      Ask(FakeControl(TwoUpdates()), {"4242", "--watch", "--format", "json"});
  EXPECT_EQ(result.exit_code, 0) << "the daemon ended it without a complaint";
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2);
  EXPECT_THAT(result.out, HasSubstr("\"path\":\"top.fc\""));
  EXPECT_THAT(result.out, Not(HasSubstr("\"more\":true")));
}

TEST(ModulesWatch, AsksForTheSameTreeNowAndThen) {
  FakeControl daemon(TwoUpdates());
  Ask(daemon, {"4242", "--watch"});
  Ask(daemon, {"4242", "--watch", "--interval", "200ms", "--module", "top.*"});
  const Requests requests = daemon.requests();
  ASSERT_EQ(requests.watch_modules.size(), 2u);
  EXPECT_EQ(requests.watch_modules[0].interval_ns(), 0u) << "the daemon's default";
  EXPECT_EQ(requests.watch_modules[1].interval_ns(), 200'000'000u);
  EXPECT_EQ(requests.watch_modules[1].tree().pid(), 4242);
  EXPECT_THAT(requests.watch_modules[1].tree().patterns(), ElementsAre("top.*"));
  EXPECT_TRUE(requests.modules.empty());
}

TEST(ModulesWatch, AnUpdateThatEndsBeforeItsLastPiece) {
  Script script = TwoUpdates();
  script.modules_updates.pop_back();
  const ChildResult result = Ask(FakeControl(script), {"4242", "--watch"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("ended before its last piece"));
}

TEST(ModulesWatch, IntervalsThatAreNone) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--interval", "1s"},
      {"--watch", "--interval", "49ms"},
      {"--watch", "--interval", "61m"},
      {"--watch", "--interval", "999ms", "--max-stop", "10ms"}};
  for (std::vector<std::string> arguments : wrong) {
    arguments.insert(arguments.begin(), {"modules", "4242"});
    const ChildResult result = RunSbumpctl(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments.back();
    EXPECT_THAT(result.err, HasSubstr("--interval")) << arguments.back();
  }
}

TEST(ModulesWatch, GoesOnUntilCtrlC) {
  Script script = TwoUpdates();
  script.modules_wait_for_cancel = true;
  const FakeControl daemon(script);
  Child child({SbumpctlPath(), "--endpoint", daemon.endpoint(), "modules", "4242", "--watch"}, {});
  ASSERT_TRUE(child.WaitForOutput("+ top.later"));
  child.Signal(SIGINT);
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace sbump::test
