#include "daemon/gate/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/process/child.h"

namespace sbump {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FactsTest, AllFourUsersCount) {
  EXPECT_THAT(*UidsOf("Name:\tx\nUid:\t1000\t0\t33\t1000\nGid:\t1\t1\t1\t1\n"),
              ElementsAre(0, 33, 1000));
}

TEST(FactsTest, WithoutUsersThereIsNoAnswer) {
  for (const char* text : {"", "Uid:", "Uid:\t1\t2\t3\n", "Uid:\t1\t2\t3\tx\n",
                           "Gid:\t1\t1\t1\t1\n", "Uid:\t-1\t0\t0\t0\n"}) {
    EXPECT_FALSE(UidsOf(text).ok()) << text;
  }
}

// A process can have a newline in its name, but the kernel writes it escaped.
TEST(FactsTest, TheFirstLineOfUsersIsTheKernels) {
  EXPECT_THAT(*UidsOf("Name:\tUid:\\nUid:\t0\nUid:\t5\t5\t5\t5\n"), ElementsAre(5));
}

TEST(FactsTest, Capabilities) {
  const auto has = [](const std::string& permitted) {
    return HasCapabilities("Name:\tx\nCapInh:\t0000000000000001\nCapPrm:\t" + permitted +
                           "\nCapEff:\t0000000000000002\n");
  };
  EXPECT_TRUE(*has("0000000000200400"));
  EXPECT_TRUE(*has("8000000000000000"));
  EXPECT_FALSE(*has("0000000000000000"));
  EXPECT_FALSE(HasCapabilities("Name:\tx\nCapEff:\t0000000000000002\n").ok());
}

TEST(FactsTest, TheUnifiedCgroup) {
  EXPECT_EQ(UnifiedCgroup("0::/system.slice/a.service\n"), "/system.slice/a.service");
  EXPECT_EQ(UnifiedCgroup("12:cpu:/x\n1:name=systemd:/y\n0::/z\n"), "/z");
  EXPECT_EQ(UnifiedCgroup("12:cpu:/x\n"), "");
  EXPECT_EQ(UnifiedCgroup(""), "");
}

TEST(FactsTest, WordsOfACommandLine) {
  EXPECT_EQ(JoinWords(std::string("python3\0-m\0app\0", 15)), "python3 -m app");
  EXPECT_EQ(JoinWords(std::string("title\0\0\0\0", 9)), "title");
  EXPECT_EQ(JoinWords(""), "");
}

TEST(FactsTest, OfAProcess) {
  const Child child([] { pause(); });
  const absl::StatusOr<TargetProcess> process = TargetProcess::Open(child.pid());
  ASSERT_TRUE(process.ok()) << process.status();
  const absl::StatusOr<TargetFacts> facts = ReadFacts(*process);
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->pid, child.pid());
  EXPECT_EQ(facts->start_ticks, process->id().start_ticks);
  EXPECT_THAT(facts->uids, Contains(geteuid()));
  EXPECT_THAT(facts->cmdline, HasSubstr("facts_test"));
  EXPECT_THAT(facts->exe, HasSubstr("facts_test"));
}

}  // namespace
}  // namespace sbump
