#include "daemon/policy/policy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kExample[] = R"(# who may do what
callers:
  - user: 1000
    role: operator
    sessions: all
    limits:
      target_uids: [1000, nobody]
      cgroups: ["/system.slice/app-*.service"]
      cmdlines: ["*gunicorn*", "*celery*"]
      max_delay: 1ms
      max_duty: 20%
      max_ttl: 10m
      max_stop: 50ms
      max_sessions: 4
  - group: root
    role: viewer
  - certificate: dns:dash.example
    role: viewer
)";

Caller Local(uid_t uid, std::vector<gid_t> groups = {}) {
  return {.uid = uid, .pid = 7, .groups = std::move(groups)};
}
Caller Certificate(std::vector<std::string> names) {
  return {.kind = Caller::Kind::kCertificate, .names = std::move(names), .address = "[::1]:4"};
}

// The words of the refusal.
std::string MistakeIn(std::string_view text) {
  const absl::Status status = ParsePolicy("p.yaml", text).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status << " for\n" << text;
  return std::string(status.message());
}

TEST(PolicyFileTest, WhatIsWrittenIsTaken) {
  const absl::StatusOr<Policy> policy = ParsePolicy("p.yaml", kExample);
  ASSERT_TRUE(policy.ok()) << policy.status();
  const Grant* grant = policy->GrantOf(Local(1000));
  ASSERT_NE(grant, nullptr);
  EXPECT_EQ(grant->role, Role::kOperator);
  EXPECT_TRUE(grant->others_sessions);
  EXPECT_EQ(grant->source, "p.yaml:3");
  const Limits& limits = grant->limits;
  EXPECT_THAT(*limits.target_uids, ElementsAre(1000, 65534));
  ASSERT_EQ(limits.cgroups->size(), 1u);
  EXPECT_TRUE(limits.cgroups->front().Matches("/system.slice/app-7.service"));
  EXPECT_EQ(limits.cmdlines->size(), 2u);
  EXPECT_EQ(limits.max_delay_ns, 1'000'000u);
  EXPECT_EQ(limits.max_ttl_ns, 600'000'000'000u);
  EXPECT_EQ(limits.max_stop_ns, 50'000'000u);
  EXPECT_DOUBLE_EQ(*limits.max_duty, 0.2);
  EXPECT_EQ(limits.max_sessions, 4u);
}

TEST(PolicyFileTest, WhatIsNotWrittenIsNotLimitedButTheStop) {
  const absl::StatusOr<Policy> policy = ParsePolicy("p.yaml", kExample);
  const Grant& grant = *policy->GrantOf(Certificate({"dns:dash.example"}));
  EXPECT_EQ(grant.role, Role::kViewer);
  EXPECT_FALSE(grant.others_sessions);
  EXPECT_FALSE(grant.limits.RestrictTargets());
  EXPECT_FALSE(grant.limits.max_delay_ns || grant.limits.max_ttl_ns || grant.limits.max_duty);
  EXPECT_EQ(grant.limits.max_stop_ns, Limits::kDefaultMaxStopNs);
}

TEST(PolicyFileTest, TheFirstEntryThatMatchesDecides) {
  const absl::StatusOr<Policy> policy = ParsePolicy("p.yaml", kExample);
  EXPECT_EQ(policy->GrantOf(Local(1000, {0}))->source, "p.yaml:3");
  EXPECT_EQ(policy->GrantOf(Local(1001, {5, 0}))->source, "p.yaml:15");
  EXPECT_EQ(policy->GrantOf(Local(1001, {5})), nullptr);
}

TEST(PolicyFileTest, RootNeedsNoEntryAndMayHaveOne) {
  EXPECT_EQ(ParsePolicy("p.yaml", kExample)->GrantOf(Local(0))->source, "root");
  EXPECT_TRUE(ParsePolicy("p.yaml", "callers: []")->GrantOf(Local(0))->others_sessions);
  EXPECT_EQ(ParsePolicy("p.yaml", "callers: [{user: 0, role: viewer}]")->GrantOf(Local(0))->role,
            Role::kViewer);
}

// A certificate's names are nobody's uid or group, and the other way round.
TEST(PolicyFileTest, CertificatesAndUsersAreDifferentThings) {
  const absl::StatusOr<Policy> policy = ParsePolicy("p.yaml", kExample);
  Caller remote = Certificate({"dns:other.example"});
  remote.uid = 0;
  remote.groups = {0};
  EXPECT_EQ(policy->GrantOf(remote), nullptr);
  Caller local = Local(1001);
  local.names = {"dns:dash.example"};
  EXPECT_EQ(policy->GrantOf(local), nullptr);
  EXPECT_NE(policy->GrantOf(Certificate({"dns:a", "dns:dash.example"})), nullptr);
  // No patterns: a name is a name.
  const absl::StatusOr<Policy> star =
      ParsePolicy("p.yaml", "callers: [{certificate: 'dns:*', role: viewer}]");
  EXPECT_EQ(star->GrantOf(Certificate({"dns:x"})), nullptr);
}

TEST(PolicyFileTest, EveryMistakeNamesItsLine) {
  const struct {
    const char* text;
    const char* line;
    const char* words;
  } cases[] = {
      {"", "p.yaml:1:", "empty"},
      {"- a\n", "p.yaml:1:", "key: value"},
      {"callers: 7\n", "p.yaml:1:", "list"},
      {"callers: []\nrules: []\n", "p.yaml:2:", "unknown key `rules`"},
      {"callers: []\ncallers: []\n", "p.yaml:2:", "`callers` is there twice"},
      {"callers:\n  - user: 1\n    role: operator\n    limit: {}\n",
       "p.yaml:4:", "unknown key `limit`"},
      {"callers:\n  - user: 1\n    role: operator\n    limits:\n      max_dely: 1ms\n",
       "p.yaml:5:", "unknown key `max_dely`"},
      {"callers:\n  - user: 1\n    role: operator\n    limits:\n      max_delay: 1\n",
       "p.yaml:5:", "no unit"},
      {"callers:\n  - user: 1\n    role: operator\n    limits:\n      max_duty: 0.2\n",
       "p.yaml:5:", "0% to 100%"},
      {"callers:\n  - user: 1\n    role: operator\n    limits:\n      max_duty: 101%\n",
       "p.yaml:5:", "0% to 100%"},
      {"callers:\n  - user: 1\n    role: operator\n    limits:\n      max_sessions: -1\n",
       "p.yaml:5:", "whole number"},
      {"callers:\n  - user: 1\n    role: operator\n    limits:\n      target_uids: 5\n",
       "p.yaml:5:", "list"},
      {"callers:\n  - user: 1\n    role: operator\n    limits:\n      target_uids: []\n",
       "p.yaml:5:", "list"},
      {"callers:\n  - user: 1\n    role: operator\n    limits:\n      target_uids: [5, nobdy]\n",
       "p.yaml:5:", "no user \"nobdy\""},
      {"callers:\n  - user: 1\n    role: admin\n", "p.yaml:3:", "viewer or operator"},
      {"callers:\n  - user: 1\n", "p.yaml:2:", "needs a role"},
      {"callers:\n  - role: viewer\n", "p.yaml:2:", "one of user, group and certificate"},
      {"callers:\n  - user: 1\n    group: 2\n    role: viewer\n", "p.yaml:2:", "one of"},
      {"callers:\n  - user: nobdy\n    role: viewer\n", "p.yaml:2:", "no user \"nobdy\""},
      {"callers:\n  - user: 99999999999\n    role: viewer\n", "p.yaml:2:", "whole number"},
      {"callers:\n  - group: nogrp\n    role: viewer\n", "p.yaml:2:", "no group"},
      {"callers:\n  - certificate: dash.example\n    role: viewer\n", "p.yaml:2:", "dns:NAME"},
      {"callers:\n  - certificate: \"dns:\"\n    role: viewer\n", "p.yaml:2:", "dns:NAME"},
      {"callers:\n  - user: 1\n    role: viewer\n    sessions: mine\n", "p.yaml:4:", "own or all"},
      {"callers:\n  - user: [1]\n    role: viewer\n", "p.yaml:2:", "one value"},
      {"callers:\n  - user: 1\n    role: viewer\n   sessions: own\n", "p.yaml:4:", ""},
      {"callers:\n  - user: \"1\n    role: viewer\n", "p.yaml:", ""},
      {"callers: []\n---\ncallers: []\n", "p.yaml:1:", "behind the end"},
      {",", "p.yaml:1:", ""},
      {"callers: []\n}\n", "p.yaml:", ""},
      {"callers: *nothing\n", "p.yaml:1:", ""},
      {"callers:\n\t- user: 1\n", "p.yaml:2:", ""},
  };
  for (const auto& one : cases) {
    const std::string words = MistakeIn(one.text);
    EXPECT_THAT(words, StartsWith(one.line)) << one.text;
    EXPECT_THAT(words, HasSubstr(one.words)) << one.text;
  }
}

TEST(PolicyFileTest, HugeAndDeepFilesAreRefused) {
  EXPECT_THAT(MistakeIn(std::string(2 << 20, '#')), HasSubstr("1 MB"));
  EXPECT_THAT(MistakeIn("callers: " + std::string(100'000, '[')), StartsWith("p.yaml:"));
}

class OwnedFileTest : public testing::Test {
 protected:
  const std::string path_ = testing::TempDir() + "/policy.yaml";
  void Write(mode_t mode) {
    unlink(path_.c_str());
    std::ofstream(path_) << kExample;
    chmod(path_.c_str(), mode);
  }
};

TEST_F(OwnedFileTest, OthersMustNotHaveWrittenIt) {
  Write(0644);
  EXPECT_TRUE(LoadPolicy(path_).ok());
  for (const mode_t mode : {0664, 0646}) {
    Write(mode);
    const absl::Status status = LoadPolicy(path_).status();
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("can be written by others"));
  }
}

TEST_F(OwnedFileTest, WhatIsNoFileIsRefused) {
  EXPECT_TRUE(absl::IsNotFound(LoadPolicy("/nowhere/policy.yaml").status()));
  EXPECT_FALSE(LoadPolicy("/").ok());
  EXPECT_FALSE(LoadPolicy("/dev/zero").ok());
  unlink(path_.c_str());
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(LoadPolicy(path_).ok()) << "a pipe without a writer must not block";
}

}  // namespace
}  // namespace sbump
