#include "client/context_file.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

using ::testing::StartsWith;

TEST(ContextFile, WhatIsWrittenIsTaken) {
  const auto file = ParseContextFile("/home/me/.config/sbump/config.yaml",
                                     "current: here\n"
                                     "contexts:\n"
                                     "  here: {endpoint: \"unix:/run/x.sock\"}\n"
                                     "  gpu: {endpoint: \"gpu:7443\", tls_ca: ca.pem,\n"
                                     "        tls_cert: /etc/me.pem, tls_key: keys/me.key}\n");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->current, "here");
  ASSERT_EQ(file->contexts.size(), 2u);
  EXPECT_EQ(file->contexts[0].endpoint.path, "/run/x.sock");
  const Host& gpu = *file->Find("gpu");
  EXPECT_EQ(gpu.endpoint.ToString(), "gpu:7443");
  EXPECT_EQ(gpu.tls.ca, "/home/me/.config/sbump/ca.pem");
  EXPECT_EQ(gpu.tls.cert, "/etc/me.pem");
  EXPECT_EQ(gpu.tls.key, "/home/me/.config/sbump/keys/me.key");
  EXPECT_EQ(file->Find("other"), nullptr);
}

TEST(ContextFile, MistakesNameTheirLine) {
  const struct {
    const char* text;
    const char* line;
  } cases[] = {
      {"", "c:1: "},
      {"contexts: []\n", "c:1: "},
      {"context: {}\n", "c:1: unknown key `context`"},
      {"contexts:\n  a: {endpoint: \"unix:/x\"}\n  a: {endpoint: \"unix:/y\"}\n", "c:3: `a`"},
      {"contexts:\n  a: {}\n", "c:2: the context a has no endpoint"},
      {"contexts:\n  a: {endpoint: nowhere}\n", "c:2: endpoint \"nowhere\""},
      {"contexts:\n  a:\n    endpoint: \"h:1\"\n    tls: x\n", "c:4: unknown key `tls`"},
      {"contexts:\n  a: {endpoint: \"h:1\"}\ncurrent: b\n", "c:3: current: there is no context"},
  };
  for (const auto& one : cases) {
    const absl::Status status = ParseContextFile("c", one.text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << one.text;
    EXPECT_THAT(std::string(status.message()), StartsWith(one.line));
  }
}

TEST(ContextFile, WhereItIs) {
  const auto path = [](std::map<std::string, std::string> variables) {
    return ContextFilePath([&](const char* name) -> const char* {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  };
  EXPECT_EQ(path({{"HOME", "/home/me"}}), "/home/me/.config/sbump/config.yaml");
  EXPECT_EQ(path({{"HOME", "/home/me"}, {"XDG_CONFIG_HOME", "/c"}}), "/c/sbump/config.yaml");
  EXPECT_EQ(path({{"HOME", "/home/me"}, {"SBUMP_CONFIG", "x.yaml"}}), "x.yaml");
  EXPECT_EQ(path({}), "");
}

}  // namespace
}  // namespace sbump
