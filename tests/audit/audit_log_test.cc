#include "daemon/audit/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace sbump {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kMoment = 1'763'753'696'123'456'789;  // 2025-11-21T19:34:56.123456789Z

AuditRecord Attach() {
  return {.event = "attach",
          .caller = {.uid = 1000, .pid = 77},
          .session = "s1",
          .target = TargetFacts{.pid = 42,
                                .start_ticks = 9,
                                .uids = {33, 1000},
                                .cgroup = "/app",
                                .cmdline = "python3 app.py",
                                .exe = "/usr/bin/python3.11"},
          .rules = {{"*:step", 1000, 2}},
          .exclude = {"*:aside"},
          .delay_ns = 1000,
          .ttl_ns = 60};
}

TEST(ToJsonLineTest, AnAttach) {
  EXPECT_EQ(ToJsonLine(Attach(), kMoment),
            "{\"time\":\"2025-11-21T19:34:56.123456Z\",\"event\":\"attach\","
            "\"caller\":{\"uid\":1000,\"pid\":77},\"session\":\"s1\","
            "\"target\":{\"pid\":42,\"start_ticks\":9,\"exe\":\"/usr/bin/python3.11\","
            "\"uids\":[33,1000],\"cgroup\":\"/app\",\"cmdline\":\"python3 app.py\"},"
            "\"rules\":[{\"pattern\":\"*:step\",\"delay_ns\":1000,\"every\":2}],"
            "\"exclude\":[\"*:aside\"],\"delay_ns\":1000,\"ttl_ns\":60}\n");
}

TEST(ToJsonLineTest, AnEnd) {
  AuditRecord record{.event = "end", .session = "s1", .reason = "detached"};
  record.caller = {.kind = Caller::Kind::kCertificate,
                   .names = {"dns:dash.example", "uri:spiffe://a/b"},
                   .address = "[::1]:5"};
  record.totals = AuditTotals{.calls = 4, .delayed_calls = 3, .injected_delay_ns = 2};
  record.clean = true;
  EXPECT_EQ(ToJsonLine(record, kMoment),
            "{\"time\":\"2025-11-21T19:34:56.123456Z\",\"event\":\"end\","
            "\"caller\":{\"certificate\":[\"dns:dash.example\",\"uri:spiffe://a/b\"],"
            "\"address\":\"[::1]:5\"},\"session\":\"s1\",\"reason\":\"detached\","
            "\"totals\":{\"calls\":4,\"delayed_calls\":3,\"requested_delay_ns\":0,"
            "\"injected_delay_ns\":2},\"clean\":true}\n");
}

// Names of processes and patterns are other people's bytes: one line stays one line, of UTF-8.
TEST(ToJsonLineTest, HostileTexts) {
  AuditRecord record = Attach();
  record.target->cmdline = "a\nb\"c\\d\x01 \xff\xfe {\"event\":\"end\"}";
  record.target->exe = std::string("\0x", 2);
  record.reason = std::string(10'000, 'x');
  const std::string line = ToJsonLine(record, kMoment);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_THAT(line, EndsWith("}\n"));
  EXPECT_THAT(line, HasSubstr("\\\\xff"));
  EXPECT_THAT(line, Not(HasSubstr("{\"event\":\"end\"}")));
  EXPECT_LT(line.size(), 6'000u);
  for (const unsigned char c : line) EXPECT_LT(c, 0x80);
}

TEST(ToJsonLineTest, ManyRulesAreCut) {
  AuditRecord record = Attach();
  record.rules.assign(100'000, {"*:f", 1, 1});
  EXPECT_THAT(ToJsonLine(record, kMoment), HasSubstr("{\"more\":99000}"));
}

class AuditLogTest : public testing::Test {
 protected:
  AuditLogTest() { unlink(path_.c_str()); }
  std::string Text() const {
    std::ifstream file(path_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  const std::string path_ = testing::TempDir() + "/audit.jsonl";
};

TEST_F(AuditLogTest, AppendsToAPrivateFile) {
  std::ofstream(path_) << "before\n";
  chmod(path_.c_str(), 0600);
  auto log = AuditLog::Open(path_);
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_TRUE((*log)->Write(Attach()).ok());
  EXPECT_EQ(Text().substr(0, 8), "before\n{");
  unlink(path_.c_str());
  log = AuditLog::Open(path_);
  struct stat st;
  ASSERT_EQ(stat(path_.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600u);
}

TEST_F(AuditLogTest, RefusesWhatIsNoPrivateFile) {
  std::ofstream(path_) << "";
  chmod(path_.c_str(), 0622);
  EXPECT_TRUE(absl::IsPermissionDenied(AuditLog::Open(path_).status()));
  EXPECT_FALSE(AuditLog::Open("/dev/null").ok());
  EXPECT_FALSE(AuditLog::Open("/nowhere/audit").ok());
  EXPECT_FALSE(AuditLog::Open("/").ok());
  unlink(path_.c_str());
  ASSERT_EQ(symlink("/tmp/elsewhere", path_.c_str()), 0);
  EXPECT_FALSE(AuditLog::Open(path_).ok());
  unlink(path_.c_str());
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(AuditLog::Open(path_).ok()) << "must not wait for a reader";
}

// A limit on the size of files cuts the line in its middle, as a full disk does.
TEST_F(AuditLogTest, ALineThatDoesNotFitIsTakenBack) {
  auto log = AuditLog::Open(path_);
  ASSERT_TRUE((*log)->Write(Attach()).ok());
  const std::string before = Text();
  signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit tight{before.size() + 10, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  const absl::Status status = (*log)->Write(Attach());
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_ + " cannot be written"));
  EXPECT_EQ(Text(), before);
  EXPECT_TRUE((*log)->Write(Attach()).ok());
}

TEST_F(AuditLogTest, ReopenTakesTheNewFile) {
  auto log = AuditLog::Open(path_);
  const std::string rotated = path_ + ".1";
  rename(path_.c_str(), rotated.c_str());
  ASSERT_TRUE((*log)->Write(Attach()).ok());
  EXPECT_EQ(Text(), "");
  ASSERT_TRUE((*log)->Reopen().ok());
  ASSERT_TRUE((*log)->Write(Attach()).ok());
  EXPECT_THAT(Text(), HasSubstr("\"attach\""));
}

TEST_F(AuditLogTest, LinesOfManyThreadsAreWhole) {
  auto log = AuditLog::Open(path_);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j) EXPECT_TRUE((*log)->Write(Attach()).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::ifstream file(path_);
  std::string line;
  int lines = 0;
  for (; std::getline(file, line); ++lines) {
    EXPECT_TRUE(line.starts_with("{\"time\"") && line.ends_with("\"ttl_ns\":60}")) << line;
  }
  EXPECT_EQ(lines, 400);
}

}  // namespace
}  // namespace sbump
