// The commands with one answer.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/child.h"
#include "tests/client/fake_control.h"
#include "tests/client/samples.h"

namespace sbump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

ChildResult Ask(const FakeControl& daemon, std::vector<std::string> arguments) {
  arguments.push_back("--endpoint");  // a global flag may stand behind the command
  arguments.push_back(daemon.endpoint());
  return RunSbumpctl(arguments);
}

Script TwoPiecesOfMatch() {
  Script script;
  v1::MatchReply first, last;
  *first.add_targets() = Stats("Engine.step", 0, 0);
  first.set_more(true);
  *last.add_targets() = Stats("Engine.stop", 0, 0);
  *last.add_patterns() = Pattern("*:Engine.*", v1::MATCHED);
  *last.add_patterns() = Pattern("*:Motor.*", v1::NO_MATCH);
  last.mutable_patterns(0)->set_targets(2);
  last.set_stopped_ns(12'300'000);
  last.set_code_objects_seen(7'000);
  last.mutable_process()->set_pid(4242);
  last.mutable_process()->set_python_version("3.13.5");
  last.mutable_process()->set_python_build("free-threaded");
  script.match = {first, last};
  return script;
}

TEST(Match, PrintsRowsPatternsAndTheStop) {
  FakeControl daemon(TwoPiecesOfMatch());
  const ChildResult result = Ask(daemon, {"match", "-p", "4242", "--target", "*:Engine.*"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Engine.step"));
  EXPECT_THAT(result.out, HasSubstr("Engine.stop"));
  EXPECT_THAT(result.out, HasSubstr("NO MATCH"));
  EXPECT_THAT(result.out, HasSubstr("2 targets among 7,000 code objects; pid 4242 (python 3.13.5 "
                                    "free-threaded) was stopped for 12.3ms"));
}

TEST(Match, JsonIsOneMergedLine) {
  FakeControl daemon(TwoPiecesOfMatch());
  const ChildResult result =
      Ask(daemon, {"match", "-p", "4242", "--target", "*:f", "--format", "json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1);
  EXPECT_THAT(result.out, StartsWith("{\"targets\":[{\"pattern\":"));
  EXPECT_THAT(result.out, HasSubstr("Engine.stop"));
  EXPECT_THAT(result.out, HasSubstr("\"more\":false"));
}

TEST(Match, NothingHasItsOwnStatus) {
  Script script;
  script.match.emplace_back();
  *script.match[0].add_patterns() = Pattern("*:f", v1::NO_MATCH);
  FakeControl daemon(script);
  EXPECT_EQ(Ask(daemon, {"match", "4242", "--target", "*:f"}).exit_code, 7);
}

TEST(List, PrintsSessions) {
  Script script;
  v1::SessionSummary* session = script.list.add_sessions();
  session->set_session_id("s-7");
  session->set_state(v1::ACTIVE);
  session->mutable_process()->set_pid(4242);
  session->mutable_process()->set_python_version("3.13.5");
  session->mutable_process()->set_python_build("free-threaded");
  session->set_client_name("sbumpctl (pid 77) by root");
  session->set_delay_ns(20'000'000);
  session->set_mode(v1::SLEEP);
  FakeControl daemon(script);
  const ChildResult result = Ask(daemon, {"list"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("s-7"));
  EXPECT_THAT(result.out, HasSubstr("3.13.5 free-threaded"));
  EXPECT_THAT(result.out, HasSubstr("20ms sleep"));
  EXPECT_THAT(result.out, HasSubstr("sbumpctl (pid 77) by root"));
  EXPECT_THAT(Ask(daemon, {"list", "--format", "json"}).out,
              StartsWith("{\"sessions\":[{\"session_id\":\"s-7\",\"state\":\"ACTIVE\""));
}

TEST(Update, SendsOnlyWhatIsNamed) {
  Script script;
  script.update.set_targets(3);
  FakeControl daemon(script);
  const ChildResult result = Ask(daemon, {"update", "s-7", "--delay", "20us"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "session s-7: 3 targets in force\n");
  Ask(daemon, {"update", "s-7", "--target", "*:g", "--exclude", "*:h"});
  const Requests requests = daemon.requests();
  ASSERT_EQ(requests.update.size(), 2u);
  EXPECT_EQ(requests.update[0].delay_ns(), 20'000u);
  EXPECT_FALSE(requests.update[0].has_every());
  EXPECT_FALSE(requests.update[0].has_selection());
  EXPECT_FALSE(requests.update[1].has_delay_ns());
  EXPECT_EQ(requests.update[1].selection().patterns(0).pattern(), "*:g");
}

TEST(Update, NamesPatternsThatMatchNothing) {
  Script script;
  v1::PatternStats* pattern = script.update.add_unmatched();
  *pattern = Pattern("*:setp", v1::NO_MATCH);
  pattern->add_near_misses()->set_suggestion("/srv/app.py:step");
  script.update.set_targets(3);
  const ChildResult some = Ask(FakeControl(script), {"update", "s-7", "--target", "*:setp"});
  EXPECT_EQ(some.exit_code, 0) << "others match";
  EXPECT_THAT(some.err, HasSubstr("*:setp   NO MATCH"));
  EXPECT_THAT(some.err, HasSubstr("did you mean /srv/app.py:step?"));

  script.update.set_targets(0);
  FakeControl daemon(script);
  const ChildResult none = Ask(daemon, {"update", "s-7", "--target", "*:setp"});
  EXPECT_EQ(none.exit_code, 7);
  EXPECT_EQ(none.out, "session s-7: 0 targets in force\n");
  EXPECT_THAT(none.err, HasSubstr("no pattern matches anything that is loaded"));
  const ChildResult json = Ask(daemon, {"update", "s-7", "--target", "*:setp", "--format", "json"});
  EXPECT_EQ(json.exit_code, 7);
  EXPECT_THAT(json.out,
              HasSubstr("\"unmatched\":[{\"pattern\":\"*:setp\",\"status\":\"NO_MATCH\""));
  EXPECT_EQ(Ask(daemon, {"update", "s-7", "--delay", "1us"}).exit_code, 0) << "its patterns stay";
}

TEST(Detach, NamesOneSessionAProcessOrAll) {
  Script script;
  auto* detached = script.detach.add_sessions();
  detached->set_session_id("s-7");
  detached->set_pid(4242);
  detached->mutable_detach_proof()->set_verified(true);
  FakeControl daemon(script);
  const ChildResult result = Ask(daemon, {"detach", "s-7"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out,
              HasSubstr("session s-7  pid 4242  detach proof: 0 links left, 0 fields left, 0 text "
                        "bytes changed (verified)"));
  Ask(daemon, {"detach", "--pid", "4242"});
  Ask(daemon, {"detach", "--all"});
  const Requests requests = daemon.requests();
  ASSERT_EQ(requests.detach.size(), 3u);
  EXPECT_EQ(requests.detach[0].session_id(), "s-7");
  EXPECT_EQ(requests.detach[1].pid(), 4242);
  EXPECT_TRUE(requests.detach[2].all());
}

TEST(Detach, ProofThatIsNotCleanIsAnError) {
  Script script;
  script.detach.add_sessions()->mutable_detach_proof()->set_links_left(1);
  FakeControl daemon(script);
  const ChildResult result = Ask(daemon, {"detach", "--all"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("1 link left"));
}

void AddFinding(v1::FindingLevel level, const char* topic, const char* advice, Script* script) {
  v1::Finding* finding = script->inspect.add_findings();
  finding->set_level(level);
  finding->set_topic(topic);
  finding->set_name("name");
  finding->set_value("value");
  finding->set_advice(advice);
}

TEST(Doctor, ExitStatusSaysWhatIsWrong) {
  const struct {
    const char* topic;
    int exit_code;
  } cases[] = {{"kernel", 13}, {"capabilities", 6}, {"interpreter", 5}, {"process", 13}};
  for (const auto& c : cases) {
    Script script;
    AddFinding(v1::OK, "kernel", "", &script);
    AddFinding(v1::PROBLEM, c.topic, "do this", &script);
    FakeControl daemon(script);
    const ChildResult result = Ask(daemon, {"doctor", "4242"});
    EXPECT_EQ(result.exit_code, c.exit_code);
    EXPECT_THAT(result.out, HasSubstr("PROBLEM"));
    EXPECT_THAT(result.out, HasSubstr("-> do this"));
  }
  Script script;
  AddFinding(v1::WARNING, "kernel", "", &script);
  script.inspect.set_usable(true);
  FakeControl daemon(script);
  const ChildResult result = Ask(daemon, {"doctor"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("WARN"));
  EXPECT_THAT(result.out, HasSubstr("this machine: an attach is expected to work"));
}

TEST(Version, OfTheClientAndWhereThereIsOneOfTheDaemon) {
  Script script;
  script.info.set_version("9.8.7");
  FakeControl daemon(script);
  EXPECT_THAT(Ask(daemon, {"version"}).out, HasSubstr("sbumpd 9.8.7"));
  EXPECT_THAT(Ask(daemon, {"version", "--format", "json"}).out, HasSubstr("\"version\":\"9.8.7\""));
  SocketDirectory directory;
  const ChildResult alone = RunSbumpctl({"--endpoint", "unix:" + directory.socket(), "version"});
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_THAT(alone.out, StartsWith("sbumpctl "));
  EXPECT_EQ(RunSbumpctl({"version", "--client"}).err, "");
}

TEST(Watch, FollowsToTheEnd) {
  Script script;
  script.watch.first = {Active(1, 5)};
  script.watch.last = {Ended(2, 6, "target exited")};
  FakeControl daemon(script);
  const ChildResult result = Ask(daemon, {"watch", "s-1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("ended: target exited"));
}

}  // namespace
}  // namespace sbump::test
