// A journal where the disk is full, and one that grows.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/attach/journal_fixture.h"

namespace sbump {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// ---- A full disk: what a limit on the size of files does to writes ----

class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t bytes) {
    old_handler_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_;
  sighandler_t old_handler_;
};

TEST_F(JournalTest, NoSpaceAtTheBeginningLeavesNothing) {
  const FileSizeLimit limit(Journal::kReserveBytes - 1);
  const absl::Status status = Create().status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("nothing is armed"));
  EXPECT_THAT(Journal::List(state_dir()), IsEmpty());
}

TEST_F(JournalTest, NoSpaceLaterIsToldAndWhatWasWrittenStays) {
  auto journal = Create();
  ASSERT_TRUE(journal->WillArm({Field(0x1000)}).ok());
  {
    const FileSizeLimit limit(Journal::kReserveBytes);
    EXPECT_FALSE(journal->WillArm(std::vector<ArmedField>(5000, Field(0x2000))).ok());
  }
  journal->Died({0x3000});
  EXPECT_THAT(Reread(*journal).fields, Contains(Field(0x1000)));
}

// Lines that were half written must not spoil those that follow.
TEST_F(JournalTest, LinesAfterAFailedWriteAreRead) {
  auto journal = Create();
  {
    const FileSizeLimit limit(Journal::kReserveBytes);
    EXPECT_FALSE(journal->WillArm(std::vector<ArmedField>(5000, Field(0x2000))).ok());
  }
  ASSERT_TRUE(journal->WillArm({Field(0x4000)}).ok());
  EXPECT_THAT(Reread(*journal).fields, Contains(Field(0x4000)));
}

// ---- A process that makes and drops code objects all the time ----

TEST_F(JournalTest, ALongOneIsShortenedToTheLiving) {
  auto journal = Create();
  ASSERT_TRUE(journal->WillBump().ok());
  ASSERT_TRUE(journal->WillArm({Field(0x1000)}).ok());
  for (uint64_t code = 0x2000; std::filesystem::file_size(journal->path()) <
                               2 * Journal::kCompactBytes + Journal::kReserveBytes;
       code += 0x1000) {
    ASSERT_TRUE(journal->WillArm({Field(code)}).ok());
    journal->Died({code});
  }
  journal->Tidy();
  EXPECT_LE(std::filesystem::file_size(journal->path()), 2 * Journal::kReserveBytes);
  JournalContents contents = Reread(*journal);
  EXPECT_EQ(contents.target, kTarget);
  EXPECT_EQ(contents.boot_id, ReadBootId());
  EXPECT_TRUE(contents.bump_begun);
  EXPECT_THAT(contents.fields, ElementsAre(Field(0x1000)));
  EXPECT_THAT(Journal::List(state_dir()), ElementsAre(journal->path()));

  ASSERT_TRUE(journal->DidBump().ok());
  ASSERT_TRUE(journal->WillArm({Field(0x3000)}).ok());
  contents = Reread(*journal);
  EXPECT_FALSE(contents.bump_begun) << "the new file is the one that is written to";
  EXPECT_THAT(contents.fields, UnorderedElementsAre(Field(0x1000), Field(0x3000)));
}

TEST_F(JournalTest, NoSpaceToShortenItLeavesTheLongOne) {
  auto journal = Create();
  ASSERT_TRUE(journal->WillArm(std::vector<ArmedField>(12'000, Field(0x1000))).ok());
  {
    const FileSizeLimit limit(1000);
    journal->Tidy();
  }
  EXPECT_THAT(Reread(*journal).fields, ElementsAre(Field(0x1000)));
  EXPECT_THAT(Journal::List(state_dir()), ElementsAre(journal->path()));
}

}  // namespace
}  // namespace sbump
