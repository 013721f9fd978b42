#include "daemon/attach/journal.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "daemon/base/str_cat.h"
#include "tests/attach/journal_fixture.h"

namespace sbump {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST_F(JournalTest, WhatIsWrittenIsRead) {
  const uint64_t before_ticks = TicksNow();
  auto journal = Create();
  ASSERT_TRUE(journal.ok()) << journal.status();
  const ArmedField flag{.code = {0x7f0000001000},
                        .field = {0x7f00000010a8},
                        .size = 4,
                        .original = 1024,
                        .armed = std::numeric_limits<int32_t>::min(),
                        .fingerprint = std::numeric_limits<uint32_t>::max()};
  ASSERT_TRUE(journal->WillArm({Field(0x1000), flag}).ok());
  ASSERT_TRUE(journal->WillArm({Field(0x2000)}).ok());
  const JournalContents contents = Reread(*journal);
  EXPECT_EQ(contents.target, kTarget);
  EXPECT_EQ(contents.boot_id, ReadBootId());
  EXPECT_FALSE(contents.boot_id.empty());
  EXPECT_EQ(contents.random, kRandom);
  EXPECT_EQ(contents.keeper, kKeeper);
  EXPECT_GE(contents.begun_ticks, before_ticks);
  EXPECT_LE(contents.begun_ticks, TicksNow());
  EXPECT_FALSE(contents.is_undone);
  EXPECT_THAT(contents.fields, UnorderedElementsAre(Field(0x1000), Field(0x2000), flag));
  EXPECT_FALSE(contents.bump_begun);
}

TEST_F(JournalTest, ItsContentsAreWhatWouldBeRead) {
  auto journal = Create();
  ASSERT_TRUE(journal->WillArm({Field(0x1000), Field(0x2000)}).ok());
  ASSERT_TRUE(journal->WillProbe({{.address = {0x3000}, .inode = 7}}).ok());
  ASSERT_TRUE(journal->WillBump().ok());
  journal->Died({0x1000});
  const JournalContents contents = journal->Contents(), read = Reread(*journal);
  EXPECT_EQ(contents.target, read.target);
  EXPECT_EQ(contents.boot_id, read.boot_id);
  EXPECT_EQ(contents.random, read.random);
  EXPECT_EQ(contents.keeper, read.keeper);
  EXPECT_EQ(contents.begun_ticks, read.begun_ticks);
  EXPECT_EQ(contents.fields, read.fields);
  EXPECT_EQ(contents.dead, read.dead);
  EXPECT_EQ(contents.probes, read.probes);
  EXPECT_EQ(contents.bump_begun, read.bump_begun);
}

TEST_F(JournalTest, ProbesOnNativeFunctionsStayThroughAShorterJournal) {
  const PlacedProbe probe{
      .address = {0x7f0000001000}, .device = 2049, .inode = 77, .file_offset = 0x1139};
  auto journal = Create();
  ASSERT_TRUE(journal->WillProbe({probe}).ok());
  ASSERT_TRUE(journal->WillProbe({probe}).ok());  // once more is once
  EXPECT_THAT(Reread(*journal).probes, ElementsAre(probe));
  EXPECT_EQ(Reread(*journal).bad_lines, 0);
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(journal->WillArm({Field(0x1000)}).ok());
    journal->Died({0x1000});
  }
  const auto long_size = std::filesystem::file_size(journal->path());
  journal->Tidy();
  EXPECT_LT(std::filesystem::file_size(journal->path()), long_size);
  EXPECT_THAT(Reread(*journal).probes, ElementsAre(probe));
}

TEST_F(JournalTest, TheDeadAreForgotten) {
  auto journal = Create();
  ASSERT_TRUE(journal->WillArm({Field(0x1000), Field(0x2000)}).ok());
  journal->Died({0x1000});
  journal->Died({0x9000});
  EXPECT_THAT(Reread(*journal).fields, ElementsAre(Field(0x2000)));
}

TEST_F(JournalTest, AnAddressThatIsUsedAgain) {
  auto journal = Create();
  ArmedField second = Field(0x1000);
  second.fingerprint = 1;
  ASSERT_TRUE(journal->WillArm({Field(0x1000)}).ok());
  ASSERT_TRUE(journal->WillArm({second}).ok());
  EXPECT_THAT(Reread(*journal).fields, ElementsAre(second));
}

TEST_F(JournalTest, SeveralFieldsOfACodeObject) {
  auto journal = Create();
  ArmedField second = Field(0x1000), later = Field(0x1000);
  second.field = {0x1234};
  later.fingerprint = 1;
  ASSERT_TRUE(journal->WillArm({Field(0x1000), second, Field(0x2000)}).ok());
  ASSERT_TRUE(journal->WillArm({Field(0x1000), second}).ok());
  EXPECT_THAT(Reread(*journal).fields, UnorderedElementsAre(Field(0x1000), second, Field(0x2000)));
  ASSERT_TRUE(
      journal->WillArm({later}).ok());  // another object there: nothing is left of the first
  EXPECT_THAT(Reread(*journal).fields, UnorderedElementsAre(later, Field(0x2000)));
  journal->Died({0x1000});
  EXPECT_THAT(Reread(*journal).fields, ElementsAre(Field(0x2000)));
}

TEST_F(JournalTest, ABumpThatMayBeHalfDone) {
  auto journal = Create();
  ASSERT_TRUE(journal->WillBump().ok());
  EXPECT_TRUE(Reread(*journal).bump_begun);
  ASSERT_TRUE(journal->DidBump().ok());
  EXPECT_FALSE(Reread(*journal).bump_begun);
}

TEST_F(JournalTest, OnlyItsOwnerMayReadIt) {
  const auto journal = Create();
  struct stat file, directory;
  ASSERT_EQ(stat(journal->path().c_str(), &file), 0);
  ASSERT_EQ(stat((state_dir() + "/journal").c_str(), &directory), 0);
  EXPECT_EQ(file.st_mode & 07777, 0600u);
  EXPECT_EQ(directory.st_mode & 07777, 0700u);
}

TEST_F(JournalTest, SpaceIsTakenBeforehand) {
  auto journal = Create();
  struct stat st;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(journal->WillArm(std::vector<ArmedField>(100, Field(0x1000))).ok());
    ASSERT_EQ(stat(journal->path().c_str(), &st), 0);
    const uint64_t used = TextOf(journal->path()).find('\0');
    EXPECT_GE(static_cast<uint64_t>(st.st_blocks) * 512, used + Journal::kReserveBytes / 2);
  }
}

TEST_F(JournalTest, NobodyElseClaimsTheJournalOfASession) {
  std::string path;
  {
    auto journal = Create();
    ASSERT_TRUE(journal.ok()) << journal.status();
    path = journal->path();
    EXPECT_TRUE(absl::IsAlreadyExists(Journal::Claim(path).status()));
    ASSERT_TRUE(journal->StepAside().ok());
    EXPECT_TRUE(absl::IsNotFound(Journal::Claim(path).status())) << Journal::Claim(path).status();
    path = journal->path();
    EXPECT_TRUE(absl::IsAlreadyExists(Journal::Claim(path).status()));
  }
  auto claim = Journal::Claim(path);
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_TRUE(absl::IsAlreadyExists(Journal::Claim(path).status()));
}

TEST_F(JournalTest, AShorterJournalIsTheSessionsToo) {
  auto journal = Create();
  ASSERT_TRUE(journal.ok()) << journal.status();
  while (std::filesystem::file_size(journal->path()) < 2 * Journal::kCompactBytes) {
    ASSERT_TRUE(journal->WillArm(std::vector<ArmedField>(1000, Field(0x1000))).ok());
  }
  journal->Tidy();
  EXPECT_LT(std::filesystem::file_size(journal->path()), Journal::kCompactBytes);
  EXPECT_TRUE(absl::IsAlreadyExists(Journal::Claim(journal->path()).status()));
}

TEST_F(JournalTest, WhatAnotherDaemonLeftIsNotWrittenOver) {
  auto journal = Create();
  ASSERT_TRUE(journal.ok()) << journal.status();
  const std::string path = journal->path();
  for (int i = 0; i < 100; ++i) std::ofstream(StrCat(path, ".aside-", i)) << "left";
  ASSERT_TRUE(journal->StepAside().ok());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(TextOf(StrCat(path, ".aside-", i)), "left");
  EXPECT_TRUE(std::filesystem::exists(journal->path()));
}

TEST_F(JournalTest, StepsAsideForTheNextOneOfItsProcess) {
  auto first = Create();
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(first->WillArm({Field(0x1000)}).ok());
  const std::string path = first->path();
  ASSERT_TRUE(first->StepAside().ok());
  EXPECT_TRUE(first->path().starts_with(path + ".aside-")) << first->path();
  EXPECT_THAT(Reread(*first).fields, SizeIs(1));
  auto second = Create();
  ASSERT_TRUE(second.ok()) << second.status();
  auto third = second->StepAside().ok() ? Create() : second.status();
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_NE(second->path(), first->path());
  ASSERT_TRUE(first->Remove().ok());
  EXPECT_THAT(Journal::List(state_dir()), UnorderedElementsAre(second->path(), third->path()));
}

// What was forked before they died has them still.
TEST_F(JournalTest, TheDeadStayThroughAShorterJournal) {
  auto journal = Create();
  ASSERT_TRUE(journal.ok()) << journal.status();
  ASSERT_TRUE(journal->WillArm({Field(0x1000)}).ok());
  journal->Died({0x1000});
  while (std::filesystem::file_size(journal->path()) < 2 * Journal::kCompactBytes) {
    ASSERT_TRUE(journal->WillArm(std::vector<ArmedField>(1000, Field(0x2000))).ok());
  }
  journal->Tidy();
  EXPECT_LT(std::filesystem::file_size(journal->path()), Journal::kCompactBytes);
  EXPECT_THAT(Reread(*journal).fields, ElementsAre(Field(0x2000)));
  EXPECT_THAT(Reread(*journal).dead, ElementsAre(Field(0x1000)));
}

TEST_F(JournalTest, IsKeptForWhatItsProcessForked) {
  auto first = Create();
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(first->WillArm({Field(0x1000), Field(0x2000)}).ok());
  first->Died({0x2000});
  ASSERT_TRUE(first->KeepForCopies().ok());
  const std::vector<std::string> paths = Journal::List(state_dir());
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_NE(paths[0], first->path());
  const auto kept = Journal::Parse(TextOf(paths[0]));
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_TRUE(kept->is_undone);
  EXPECT_EQ(kept->random, kRandom);
  EXPECT_EQ(kept->begun_ticks, first->Contents().begun_ticks);
  EXPECT_THAT(kept->fields, ElementsAre(Field(0x1000)));
  EXPECT_THAT(kept->dead, ElementsAre(Field(0x2000)));
  EXPECT_LT(std::filesystem::file_size(paths[0]), 2000u) << "space that nothing needs any more";
  EXPECT_TRUE(Create().ok());
}

// One that stepped aside when its process executed.
TEST_F(JournalTest, IsKeptBesideAnother) {
  auto first = Create();
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(first->StepAside().ok());
  const auto second = Create();
  ASSERT_TRUE(second.ok()) << second.status();
  ASSERT_TRUE(first->KeepForCopies().ok());
  EXPECT_THAT(Journal::List(state_dir()), AllOf(SizeIs(2), Contains(second->path())));
}

TEST_F(JournalTest, WhereItCannotBeKeptItStaysAsItIs) {
  auto journal = Create();
  ASSERT_TRUE(journal.ok()) << journal.status();
  ASSERT_TRUE(journal->WillArm({Field(0x1000)}).ok());
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::Status status = journal->KeepForCopies();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(Journal::List(state_dir()), ElementsAre(journal->path()));
  EXPECT_FALSE(Reread(*journal).is_undone);
  EXPECT_THAT(Reread(*journal).fields, ElementsAre(Field(0x1000)));
}

TEST_F(JournalTest, WhereItCannotStepAsideItStaysAsItIs) {
  auto journal = Create();
  ASSERT_TRUE(journal.ok()) << journal.status();
  const std::string path = journal->path();
  std::filesystem::remove(path);
  EXPECT_FALSE(journal->StepAside().ok());
  EXPECT_EQ(journal->path(), path);
  EXPECT_THAT(Journal::List(state_dir()), IsEmpty());
}

TEST_F(JournalTest, SaysWhatOpenJournalsDoNotName) {
  ArmedField other = Field(0x1000);
  other.fingerprint = 1;
  const std::vector<ArmedField> all = {Field(0x1000), Field(0x2000), other};
  EXPECT_EQ(Journal::NotNamed(kTarget, all), all);
  {
    auto journal = Create();
    ASSERT_TRUE(journal.ok()) << journal.status();
    ASSERT_TRUE(journal->WillArm({Field(0x1000), Field(0x2000)}).ok());
    EXPECT_THAT(Journal::NotNamed(kTarget, all), ElementsAre(other));
    EXPECT_EQ(Journal::NotNamed({.pid = kTarget.pid, .start_ticks = 1}, all), all);
    journal->Died({0x2000});
    EXPECT_THAT(Journal::NotNamed(kTarget, all), ElementsAre(Field(0x2000), other));
    const Journal moved = *std::move(journal);
    EXPECT_THAT(Journal::NotNamed(kTarget, all), ElementsAre(Field(0x2000), other));
  }
  EXPECT_EQ(Journal::NotNamed(kTarget, all), all);
}

TEST_F(JournalTest, WhatIsClaimedIsRemovedUnlessAnotherHasItsPath) {
  std::string path;
  {
    auto left = Create();
    ASSERT_TRUE(left.ok()) << left.status();
    path = left->path();
  }
  const auto claim = Journal::Claim(path);
  ASSERT_TRUE(claim.ok()) << claim.status();
  std::filesystem::rename(path, path + ".elsewhere");
  std::ofstream(path) << "another one";
  Journal::RemoveClaimed(path, *claim);
  EXPECT_TRUE(std::filesystem::exists(path));
  Journal::RemoveClaimed(path + ".elsewhere", *claim);
  EXPECT_FALSE(std::filesystem::exists(path + ".elsewhere"));
}

TEST_F(JournalTest, OneThatWasLeftIsKeptForWhatItsProcessForked) {
  std::string path, text;
  {
    auto left = Create();
    ASSERT_TRUE(left.ok()) << left.status();
    ASSERT_TRUE(left->WillArm({Field(0x1000)}).ok());
    path = left->path();
    text = TextOf(path);
    text.replace(text.find('\0'), 8, "arm code");  // it was killed as it wrote that
  }
  ASSERT_TRUE(Journal::KeepForCopies(path, text).ok());
  const std::vector<std::string> paths = Journal::List(state_dir());
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_NE(paths[0], path);
  const auto kept = Journal::Parse(TextOf(paths[0]));
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_TRUE(kept->is_undone);
  EXPECT_EQ(kept->random, kRandom);
  EXPECT_EQ(kept->bad_lines, 0);
  EXPECT_THAT(kept->fields, ElementsAre(Field(0x1000)));
  EXPECT_TRUE(Create().ok());
}

TEST_F(JournalTest, ASecondOneForTheSameProcessIsRefused) {
  auto journal = Create();
  EXPECT_TRUE(absl::IsAlreadyExists(Create().status())) << Create().status();
  EXPECT_THAT(Journal::List(state_dir()), ElementsAre(journal->path()));
  ASSERT_TRUE(journal->Remove().ok());
  EXPECT_THAT(Journal::List(state_dir()), IsEmpty());
  EXPECT_TRUE(Create().ok());
}

TEST_F(JournalTest, ALinkInItsPlaceIsNotFollowed) {
  const std::string elsewhere = state_dir() + "/elsewhere";
  ASSERT_EQ(mkdir((state_dir() + "/journal").c_str(), 0700), 0);
  std::filesystem::create_symlink(elsewhere, state_dir() + "/journal/1234-567");
  EXPECT_FALSE(Create().ok());
  EXPECT_FALSE(std::filesystem::exists(elsewhere));
}

TEST_F(JournalTest, NoStateDirectory) {
  const absl::Status status =
      Journal::Create(state_dir() + "/none", kTarget, kRandom, kKeeper).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(Journal::List(state_dir() + "/none"), IsEmpty());
}

}  // namespace
}  // namespace sbump
