#include "daemon/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace sbump {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kRun = -1;
constexpr int kMistake = 2;

class OptionsTest : public testing::Test {
 protected:
  DaemonOptions options;

  int Parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "sbumpd");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    return ParseDaemonOptions(static_cast<int>(arguments.size()), argv.data(), options);
  }
  // With a config file of this text, so that the machine's own is not read.
  int ParseConfig(const std::string& text, std::vector<std::string> arguments = {}) {
    const std::string path = testing::TempDir() + "/sbumpd.conf";
    std::ofstream(path) << text;
    arguments.insert(arguments.begin(), {"--config", path});
    return Parse(arguments);
  }
};

TEST_F(OptionsTest, Defaults) {
  ASSERT_EQ(ParseConfig(""), kRun);
  EXPECT_THAT(options.front.listen, ElementsAre("unix:/run/sbumpd/sbumpd.sock"));
  EXPECT_EQ(options.state_dir, "/run/sbumpd");
  EXPECT_EQ(options.log_level, LogLevel::kInfo);
}

TEST_F(OptionsTest, Flags) {
  ASSERT_EQ(ParseConfig("", {"--listen", "unix:/a.sock", "--listen", "unix:/b.sock", "--state-dir",
                             "/var/lib/sbump", "--log-level", "DEBUG"}),
            kRun);
  EXPECT_THAT(options.front.listen, ElementsAre("unix:/a.sock", "unix:/b.sock"));
  EXPECT_EQ(options.state_dir, "/var/lib/sbump");
  EXPECT_EQ(options.log_level, LogLevel::kDebug);
}

TEST_F(OptionsTest, TheSameNamesInTheConfigFile) {
  ASSERT_EQ(ParseConfig("# sbumpd\n"
                        "listen = [\"unix:/a.sock\", \"unix:/b.sock\"]\n"
                        "state-dir = \"/var/lib/sbump\"\n"
                        "log-level = \"warning\"\n"),
            kRun);
  EXPECT_THAT(options.front.listen, ElementsAre("unix:/a.sock", "unix:/b.sock"));
  EXPECT_EQ(options.state_dir, "/var/lib/sbump");
  EXPECT_EQ(options.log_level, LogLevel::kWarning);
}

TEST_F(OptionsTest, AFlagIsStrongerThanTheFile) {
  ASSERT_EQ(ParseConfig("log-level = error\nstate-dir = /a\n", {"--state-dir", "/b"}), kRun);
  EXPECT_EQ(options.state_dir, "/b");
  EXPECT_EQ(options.log_level, LogLevel::kError);
}

TEST_F(OptionsTest, MistakesOnTheCommandLine) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(ParseConfig("", {"--log-level", "loud"}), kMistake);
  EXPECT_EQ(ParseConfig("", {"--listne", "unix:/a.sock"}), kMistake);
  EXPECT_EQ(ParseConfig("", {"extra"}), kMistake);
  EXPECT_EQ(ParseConfig("", {"--state-dir"}), kMistake);
  EXPECT_EQ(Parse({"--config", "/nonexistent/sbumpd.conf"}), kMistake);
  const std::string explained = testing::internal::GetCapturedStderr();
  for (const char* word : {"loud", "--listne", "extra", "--state-dir", "/nonexistent/sbumpd.conf"})
    EXPECT_THAT(explained, HasSubstr(word));
}

TEST_F(OptionsTest, MistakesInTheConfigFile) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(ParseConfig("log-level = loud\n"), kMistake);
  EXPECT_EQ(ParseConfig("colour = red\n"), kMistake);
  const std::string explained = testing::internal::GetCapturedStderr();
  for (const char* word : {"loud", "colour"}) EXPECT_THAT(explained, HasSubstr(word));
}

TEST_F(OptionsTest, MistakesInTheConfigFileHaveALine) {
  const auto explained = [this](const std::string& text, std::vector<std::string> arguments = {}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(ParseConfig(text, std::move(arguments)), kMistake);
    return testing::internal::GetCapturedStderr();
  };
  const std::string file = testing::TempDir() + "/sbumpd.conf";
  EXPECT_THAT(explained("# sbumpd\n\npolicyy = /p\nlog-level = info\n"),
              AllOf(StartsWith(file + ":3: "), HasSubstr("policyy")));
  EXPECT_THAT(explained("state-dir = /a\nlog-level = loud\n"),
              AllOf(StartsWith(file + ":2: "), HasSubstr("loud")));
  EXPECT_THAT(explained("log-level = info\n", {"--listne", "x"}), Not(HasSubstr(file)));
}

TEST_F(OptionsTest, WhatNeedsEachOther) {
  const std::vector<std::string> tcp = {"--listen", "tcp:127.0.0.1:7443"};
  const auto parse = [&](std::vector<std::string> more, bool with_tcp = true) {
    options = {};
    if (with_tcp) more.insert(more.end(), tcp.begin(), tcp.end());
    testing::internal::CaptureStderr();
    const int status = ParseConfig("", more);
    return std::pair(status, testing::internal::GetCapturedStderr());
  };
  const std::vector<std::string> tls = {"--tls-ca", "a", "--tls-cert", "b", "--tls-key", "c"};
  std::vector<std::string> all = tls;
  all.insert(all.end(), {"--policy", "p"});
  EXPECT_EQ(parse(all).first, kRun);
  EXPECT_EQ(options.front.tls.key, "c");
  EXPECT_THAT(parse(tls), testing::Pair(kMistake, HasSubstr("--policy")));
  EXPECT_THAT(parse({"--policy", "p"}), testing::Pair(kMistake, HasSubstr("plain text")));
  EXPECT_THAT(parse({"--policy", "p", "--tls-ca", "a", "--tls-cert", "b"}),
              testing::Pair(kMistake, HasSubstr("--tls-key")));
  EXPECT_THAT(parse(tls, false), testing::Pair(kMistake, HasSubstr("--listen tcp:")));
  EXPECT_THAT(parse({"--socket-group", "g"}, false),
              testing::Pair(kMistake, HasSubstr("--policy")));
}

TEST_F(OptionsTest, EndpointsThatAreNone) {
  const std::string too_long = "unix:/" + std::string(200, 'a');
  for (const std::string& endpoint :
       {std::string("foo"), std::string("unix:relative.sock"), std::string("tcp:7443"),
        std::string("tcp:host:port"), too_long}) {
    options = {};
    testing::internal::CaptureStderr();
    EXPECT_EQ(ParseConfig("", {"--listen", endpoint}), kMistake);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("--listen " + endpoint));
  }
  testing::internal::CaptureStderr();
  EXPECT_EQ(ParseConfig("", {"--listen", "foo"}), kMistake);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("give unix:/absolute/path.sock or tcp:HOST:PORT"));
}

TEST_F(OptionsTest, HelpAndVersionDoNotStartIt) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(ParseConfig("", {"--help"}), 0);
  EXPECT_EQ(ParseConfig("", {"--version"}), 0);
  const std::string text = testing::internal::GetCapturedStdout();
  for (const char* word :
       {"--listen", "--state-dir", "--log-level", "--config", "/run/sbumpd", "sbumpd 0."}) {
    EXPECT_THAT(text, HasSubstr(word));
  }
}

}  // namespace
}  // namespace sbump
