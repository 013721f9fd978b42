// Refusals and mistakes: which exit status, which words.
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/child.h"
#include "tests/client/fake_control.h"

namespace sbump::test {
namespace {

using ::testing::HasSubstr;

struct Case {
  absl::StatusCode code;
  int about_process;  // exit status of attach, match and doctor
  int about_session;  // of update, detach and watch
};

constexpr Case kCases[] = {
    {absl::StatusCode::kInvalidArgument, 2, 2},
    {absl::StatusCode::kNotFound, 4, 11},
    {absl::StatusCode::kUnimplemented, 5, 5},
    {absl::StatusCode::kPermissionDenied, 6, 6},
    {absl::StatusCode::kUnavailable, 9, 9},
    {absl::StatusCode::kAlreadyExists, 10, 10},
    {absl::StatusCode::kResourceExhausted, 12, 12},
    {absl::StatusCode::kFailedPrecondition, 13, 13},
    {absl::StatusCode::kDataLoss, 1, 1},
    {absl::StatusCode::kInternal, 1, 1},
};

TEST(Refusals, EachKindHasItsExitStatus) {
  for (const Case& c : kCases) {
    Script script;
    script.status = absl::Status(c.code, "pid 4242: because");
    script.attach.status = script.watch.status = script.status;
    FakeControl daemon(script);
    const auto run = [&](std::vector<std::string> arguments) {
      arguments.insert(arguments.begin(), {"--endpoint", daemon.endpoint()});
      const ChildResult result = RunSbumpctl(arguments);
      EXPECT_THAT(result.err, HasSubstr("pid 4242: because"));
      return result.exit_code;
    };
    SCOPED_TRACE(absl::StatusCodeToString(c.code));
    EXPECT_EQ(run({"attach", "4242", "--target", "*:f"}), c.about_process);
    EXPECT_EQ(run({"match", "4242", "--target", "*:f"}), c.about_process);
    EXPECT_EQ(run({"doctor", "--pid", "4242"}), c.about_process);
    EXPECT_EQ(run({"watch", "s-1"}), c.about_session);
    EXPECT_EQ(run({"update", "s-1", "--delay", "1us"}), c.about_session);
    EXPECT_EQ(run({"detach", "s-1"}), c.about_session);
  }
}

TEST(Refusals, DaemonThatLacksTheCallSaysSo) {
  Script script;
  script.status = absl::UnimplementedError("");
  FakeControl daemon(script);
  const ChildResult result = RunSbumpctl({"--endpoint", daemon.endpoint(), "list"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("older than this sbumpctl"));
}

TEST(Unreachable, WithoutASocket) {
  SocketDirectory directory;
  const ChildResult result =
      RunSbumpctl({"--endpoint", "unix:" + directory.socket(), "attach", "1", "--target", "*:f"});
  EXPECT_EQ(result.exit_code, 9);
  EXPECT_THAT(result.err, HasSubstr("no such socket"));
  EXPECT_THAT(result.err, HasSubstr("systemctl start sbumpd"));
}

// Something listens but does not speak.
TEST(Unreachable, WithoutAnAnswer) {
  SocketDirectory directory;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, directory.socket().c_str());
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 8), 0);
  const ChildResult result = RunSbumpctl({"--endpoint", "unix:" + directory.socket(), "list"});
  EXPECT_EQ(result.exit_code, 9);
  EXPECT_THAT(result.err, HasSubstr("no answer within 5 s"));
}

TEST(Arguments, MistakesAreNamed) {
  const struct {
    std::vector<std::string> arguments;
    std::string words;
    int exit_code;
  } cases[] = {
      {{}, "name a command", 2},
      {{"attatch"}, "attatch", 2},
      {{"attach", "--target", "*:f"}, "pid", 2},
      {{"attach", "12", "--pid", "13", "--target", "*:f"}, "--pid", 2},
      {{"attach", "12x", "--target", "*:f"}, "12x", 2},
      {{"attach", "0", "--target", "*:f"}, "--pid", 2},
      {{"attach", "12"}, "--targets", 2},
      {{"attach", "12", "--target", "*:f", "--delay", "5"}, "no unit", 2},
      {{"attach", "12", "--target", "*:f", "--delay", "10.1ms"}, "the longest delay is 10ms", 2},
      {{"attach", "12", "--target", "*:f", "--interval", "49ms"}, "the shortest is 50ms", 2},
      {{"attach", "12", "--target", "*:f", "--every", "0"}, "--every", 2},
      {{"attach", "12", "--target", "*:f", "--format", "xml"}, "write table or json", 2},
      {{"attach", "12", "--target", "nothing"}, "--target \"nothing\"", 3},
      {{"attach", "12", "--target", "*:f", "--exclude", "x"}, "--exclude \"x\"", 3},
      {{"attach", "12", "--target", "*:f @delay=1s"}, "the longest delay is 10ms", 3},
      {{"attach", "12", "--targets", "/nowhere/t.txt"}, "/nowhere/t.txt", 3},
      {{"attach", "12", "--targets", "/"}, "a directory", 3},
      {{"attach", "12", "--targets", "/dev/zero"}, "only regular files and pipes", 3},
      {{"update", "s-1"}, "nothing to change", 2},
      {{"update", "s-1", "--exclude", "*:f"}, "belong to targets", 2},
      {{"detach"}, "name one of", 2},
      {{"detach", "s-1", "--all"}, "name one of", 2},
      {{"--endpoint", "tcp:host", "list"}, "unix:/path", 2},
      {{"--endpoint", "127.0.0.1:1", "list"}, "--tls-ca is missing", 2},
      {{"--endpoint", "127.0.0.1:1", "--tls-ca", "/nowhere", "list"}, "/nowhere", 2},
      {{"--context", "nobody", "list"}, "no such context", 2},
      {{"--endpoint", "unix:/a", "--endpoint", "unix:/b", "detach", "--all"}, "asks one daemon", 2},
      {{"help", "nothing"}, "there is no command \"nothing\"", 2},
  };
  for (const auto& c : cases) {
    const ChildResult result = RunSbumpctl(c.arguments);
    EXPECT_EQ(result.exit_code, c.exit_code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(c.words));
  }
}

TEST(Arguments, BadVariableIsNamed) {
  for (const char* value : {"SPEED_BUMP_DELAY_NS=1us", "SPEED_BUMP_FREQUENCY=0",
                            "SPEED_BUMP_START_MS=-1", "SPEED_BUMP_DURATION_MS=1e3"}) {
    ChildOptions options;
    options.environment = {value};
    const ChildResult result = RunSbumpctl({"attach", "12", "--target", "*:f"}, options);
    EXPECT_EQ(result.exit_code, 2);
    const std::string text = value;
    EXPECT_THAT(result.err, HasSubstr(text.substr(0, text.find('=') + 1)));
  }
}

}  // namespace
}  // namespace sbump::test
