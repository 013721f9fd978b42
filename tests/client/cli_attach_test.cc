// `attach` from its first update to its exit status.
#include <signal.h>

#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/client/child.h"
#include "tests/client/fake_control.h"
#include "tests/client/samples.h"

namespace sbump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

v1::SessionUpdate FromJson(const std::string& line) {
  v1::SessionUpdate update;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(line, &update).ok()) << line;
  return update;
}

Script ToEnd(const std::string& reason) {
  Script script;
  script.attach.first = {Attaching(), Active(1, 0), Active(2, 1500)};
  script.attach.last = {Ended(3, 2000, reason)};
  return script;
}

std::vector<std::string> AttachArguments(const FakeControl& daemon,
                                         std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"--endpoint", daemon.endpoint(), "attach",  "--pid", "4242",
                                        "--target",   "*:Engine.step",   "--delay", "10us"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(Attach, EndsWithTheSummaryAndTheProof) {
  FakeControl daemon(ToEnd("duration over"));
  const ChildResult result = RunSbumpctl(AttachArguments(daemon));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("ACTIVE  pid 4242"));
  EXPECT_THAT(result.out, HasSubstr("ended: duration over"));
  EXPECT_THAT(result.out, HasSubstr("NO MATCH"));
  EXPECT_THAT(result.out,
              HasSubstr("did you mean /srv/app.py:Engine.stop? (differs in case only)"));
  EXPECT_THAT(
      result.out,
      HasSubstr("detach proof: 0 links left, 0 fields left, 0 text bytes changed (verified)\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(result.err, HasSubstr("walking 7,000 code objects"));
}

TEST(Attach, SendsWhatTheFlagsSay) {
  FakeControl daemon(ToEnd("duration over"));
  RunSbumpctl(
      AttachArguments(daemon, {"--target", "*:f @delay=2us @every=3", "--exclude", "*:g", "--every",
                               "5", "--start", "2s", "-d", "30s", "--interval", "50ms", "--keep",
                               "--ttl", "10m", "--max-stop", "20ms", "--paths-only"}));
  ASSERT_EQ(daemon.requests().attach.size(), 1u);
  const v1::AttachRequest request = daemon.requests().attach[0];
  EXPECT_EQ(request.pid(), 4242);
  ASSERT_EQ(request.selection().patterns_size(), 2);
  EXPECT_EQ(request.selection().patterns(0).pattern(), "*:Engine.step");
  EXPECT_FALSE(request.selection().patterns(0).has_delay_ns());
  EXPECT_EQ(request.selection().patterns(1).delay_ns(), 2'000u);
  EXPECT_EQ(request.selection().patterns(1).every(), 3u);
  EXPECT_EQ(request.selection().exclude(0), "*:g");
  EXPECT_TRUE(request.selection().paths_only());
  EXPECT_EQ(request.delay_ns(), 10'000u);
  EXPECT_EQ(request.every(), 5u);
  EXPECT_EQ(request.start_ns(), 2 * kSecondNs);
  EXPECT_EQ(request.duration_ns(), 30 * kSecondNs);
  EXPECT_EQ(request.interval_ns(), 50'000'000u);
  EXPECT_TRUE(request.keep());
  EXPECT_EQ(request.ttl_ns(), 600 * kSecondNs);
  EXPECT_EQ(request.max_stop_ns(), 20'000'000u);
  EXPECT_THAT(request.client_name(), ::testing::MatchesRegex("sbumpctl \\(pid [0-9]+\\) by .+"));
}

TEST(Attach, TakesADutyWithOrWithoutItsSign) {
  FakeControl daemon(ToEnd("duration over"));
  for (const char* duty : {"10", "10%"}) {
    const ChildResult result = RunSbumpctl(AttachArguments(daemon, {"--max-duty", duty}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(daemon.requests().attach.back().max_duty_percent(), 10u);
  }
  for (const char* duty : {"0%", "100001%", "%", "10%%", "2.5%", "10 percent"}) {
    const ChildResult result = RunSbumpctl(AttachArguments(daemon, {"--max-duty", duty}));
    EXPECT_EQ(result.exit_code, 2) << duty;
    EXPECT_THAT(result.err, HasSubstr("1 to 100000")) << duty;
  }
}

TEST(Attach, TakesSpeedBumpsVariablesWhereFlagsAreAbsent) {
  FakeControl daemon(ToEnd("duration over"));
  SocketDirectory directory;
  const std::string file = directory.file("targets.txt");
  std::ofstream(file) << "# comment\n*:Engine.step\n";
  ChildOptions options;
  options.environment = {"SBUMP_ENDPOINT=" + daemon.endpoint(),
                         "SPEED_BUMP_TARGETS=" + file,
                         "SPEED_BUMP_DELAY_NS=1500",
                         "SPEED_BUMP_FREQUENCY=4",
                         "SPEED_BUMP_START_MS=20",
                         "SPEED_BUMP_DURATION_MS=300"};
  const ChildResult result = RunSbumpctl({"attach", "4242", "--every", "2"}, options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  ASSERT_EQ(daemon.requests().attach.size(), 1u);
  const v1::AttachRequest request = daemon.requests().attach[0];
  EXPECT_EQ(request.selection().patterns(0).pattern(), "*:Engine.step");
  EXPECT_EQ(request.delay_ns(), 1'500u);
  EXPECT_EQ(request.every(), 2u) << "flags win";
  EXPECT_EQ(request.start_ns(), 20'000'000u);
  EXPECT_EQ(request.duration_ns(), 300'000'000u);
}

TEST(Attach, JsonIsOneUpdateALine) {
  FakeControl daemon(ToEnd("duration over"));
  const ChildResult result = RunSbumpctl(AttachArguments(daemon, {"--format", "json"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> lines = Lines(result.out);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(FromJson(lines[0]).state(), v1::ATTACHING);
  EXPECT_EQ(FromJson(lines[2]).targets(0).calls(), 1500u);
  EXPECT_EQ(FromJson(lines[3]).DebugString(), Ended(3, 2000, "duration over").DebugString());
  EXPECT_THAT(lines[1], HasSubstr("\"state\":\"ACTIVE\""));
  EXPECT_THAT(lines[1], HasSubstr("\"missed_calls\":\"0\"")) << "zero values are printed";
  EXPECT_THAT(lines[3], HasSubstr("\"detach_proof\":{\"links_left\":0,\"fields_left\":0,"
                                  "\"text_bytes_changed\":0"));
}

TEST(Attach, WritesToTheOutputFile) {
  FakeControl daemon(ToEnd("duration over"));
  SocketDirectory directory;
  const std::string file = directory.file("out.ndjson");
  const ChildResult result = RunSbumpctl(AttachArguments(daemon, {"--format", "json", "-o", file}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_EQ(Lines(text.str()).size(), 4u);
}

TEST(Attach, TargetThatExitsHasItsOwnStatus) {
  for (const char* reason : {"target exited", "target called exec"}) {
    FakeControl daemon(ToEnd(reason));
    const ChildResult result = RunSbumpctl(AttachArguments(daemon));
    EXPECT_EQ(result.exit_code, 8) << result.err;
    EXPECT_THAT(result.out, HasSubstr(std::string("ended: ") + reason));
  }
}

TEST(Attach, NoMatchHasItsOwnStatus) {
  Script script = ToEnd("duration over");
  script.attach.last[0].mutable_end()->set_no_match(true);
  FakeControl daemon(script);
  const ChildResult result = RunSbumpctl(AttachArguments(daemon));
  EXPECT_EQ(result.exit_code, 7) << result.err;
}

TEST(Attach, ProofThatIsNotCleanIsAnError) {
  Script script = ToEnd("duration over");
  script.attach.last[0].mutable_end()->mutable_detach_proof()->set_fields_left(2);
  FakeControl daemon(script);
  const ChildResult result = RunSbumpctl(AttachArguments(daemon));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("2 fields left"));
}

TEST(Attach, BadTargetsFileNamesEveryLineAndAsksNobody) {
  FakeControl daemon(ToEnd("duration over"));
  ChildOptions options;
  options.standard_input = "ok:ok\nno colon\n:right only\nleft only:\n";
  SocketDirectory directory;
  const std::string file = directory.file("targets.txt");
  std::ofstream(file) << options.standard_input;
  const ChildResult result =
      RunSbumpctl({"--endpoint", daemon.endpoint(), "attach", "4242", "--targets", file}, options);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr(file + ":2: \"no colon\": "));
  EXPECT_THAT(result.err, HasSubstr(file + ":3: \":right only\": "));
  EXPECT_THAT(result.err, HasSubstr(file + ":4: \"left only:\": "));
  EXPECT_TRUE(daemon.requests().attach.empty());
}

TEST(Attach, StreamWithoutLastUpdateIsAnError) {
  Script script = ToEnd("");
  script.attach.last.clear();
  FakeControl daemon(script);
  const ChildResult result = RunSbumpctl(AttachArguments(daemon));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("without a last update"));
}

}  // namespace
}  // namespace sbump::test
