// What a daemon does at its start with the journals that it finds, as far as no process is touched.
#include "daemon/session/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "daemon/attach/journal.h"
#include "daemon/base/str_cat.h"
#include "daemon/process/remote_memory.h"
#include "daemon/session/undo.h"
#include "tests/fakes/temp_dir.h"
#include "tests/process/child.h"

namespace sbump {
namespace {

constexpr pid_t kNobody = (1 << 22) + 17;  // pids end at 2^22

class RecoveryTest : public testing::Test {
 protected:
  RecoveryTest() { std::filesystem::create_directory(state_dir_ + "/journal"); }

  std::string Path(const std::string& name) const { return state_dir_ + "/journal/" + name; }
  void Put(const std::string& name, const std::string& text) { std::ofstream(Path(name)) << text; }
  static std::string Header(pid_t pid, uint64_t start_ticks, const std::string& boot_id) {
    return StrCat("sbump-journal 1 pid=", pid, " start_ticks=", start_ticks, " boot_id=", boot_id,
                  "\n");
  }
  RecoveryResult Recover() { return RecoverJournals(state_dir_, files_); }
  bool Exists(const std::string& name) const { return std::filesystem::exists(Path(name)); }

  const TempDir temp_dir_{"recovery"};
  const std::string state_dir_ = temp_dir_.path();
  InterpreterFileCache files_;
};

TEST_F(RecoveryTest, NothingToDo) {
  const RecoveryResult result = Recover();
  EXPECT_EQ(result.processes + result.gone + result.failed, 0);
  std::filesystem::remove(state_dir_ + "/journal");
  EXPECT_EQ(Recover().failed, 0);
}

TEST_F(RecoveryTest, AProcessThatEnded) {
  Put("1-1", Header(kNobody, 1, ReadBootId()));
  EXPECT_EQ(Recover().gone, 1);
  EXPECT_FALSE(Exists("1-1"));
}

TEST_F(RecoveryTest, OneThatIsKeptForWhatItsProcessForked) {
  Child child([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  ASSERT_TRUE(process.ok());
  const std::string header = Header(child.pid(), process->id().start_ticks, ReadBootId());
  Put("1-1.aside-0", header + "undone\n");
  RecoverMembers(state_dir_, {kNobody}, files_);
  EXPECT_TRUE(Exists("1-1.aside-0"));
  RecoverMembers(state_dir_, {child.pid()}, files_);
  EXPECT_FALSE(Exists("1-1.aside-0"));
  EXPECT_TRUE(process->Alive());
}

TEST_F(RecoveryTest, OneThatIsKeptAndCouldNotSayThatItsProcessIsUndone) {
  Put("1-1", Header(kNobody, 1, ReadBootId()));
  RecoverMembers(state_dir_, {kNobody - 1}, files_);
  EXPECT_TRUE(Exists("1-1"));
  RecoverMembers(state_dir_, {kNobody}, files_);
  EXPECT_FALSE(Exists("1-1"));
}

// While it takes the probes away, they look like somebody else's.
TEST_F(RecoveryTest, TheProcessThatKeptTheProbesIsWaitedFor) {
  Child child([] { pause(); });
  Child keeper([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  const auto kept_by = TargetProcess::Open(keeper.pid());
  ASSERT_TRUE(process.ok() && kept_by.ok());
  auto memory = RemoteMemory::Open(process->proc_dirfd(), child.pid());
  ASSERT_TRUE(memory.ok()) << memory.status();
  const JournalContents journal{.target = process->id(), .keeper = kept_by->id()};
  const absl::Status early = UndoIn(*process, *memory, files_, journal).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(early)) << early;
  keeper.Kill();
  const auto undone = UndoIn(*process, *memory, files_, journal);
  ASSERT_TRUE(undone.ok()) << undone.status();
  EXPECT_EQ(*undone, 0);
}

TEST_F(RecoveryTest, AProcessOfAnotherBoot) {
  Child child([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  ASSERT_TRUE(process.ok());
  Put("1-1", Header(child.pid(), process->id().start_ticks, "another-boot"));
  EXPECT_EQ(Recover().gone, 1);
  EXPECT_FALSE(Exists("1-1"));
}

TEST_F(RecoveryTest, AnotherProcessHasThePidNow) {
  Child child([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  ASSERT_TRUE(process.ok());
  Put("1-1", Header(child.pid(), process->id().start_ticks - 1, ReadBootId()));
  EXPECT_EQ(Recover().gone, 1);
  EXPECT_FALSE(Exists("1-1"));
  EXPECT_TRUE(process->Alive());
}

TEST_F(RecoveryTest, OneThatSteppedAsideForAnotherIsRecoveredBesideIt) {
  Put("7-7", Header(kNobody, 1, ReadBootId()));
  Put("7-7.aside-0", Header(kNobody, 1, ReadBootId()));
  EXPECT_EQ(Recover().gone, 2);
  EXPECT_TRUE(std::filesystem::is_empty(state_dir_ + "/journal"));
}

TEST_F(RecoveryTest, ASessionsJournalIsLeftAlone) {
  auto live = Journal::Create(state_dir_, {.pid = kNobody, .start_ticks = 1}, {}, {});
  ASSERT_TRUE(live.ok()) << live.status();
  ASSERT_TRUE(live->StepAside().ok());
  const RecoveryResult result = Recover();
  EXPECT_EQ(result.processes + result.gone + result.failed, 0);
  RetryRecovery(state_dir_, files_);
  EXPECT_TRUE(std::filesystem::exists(live->path()));
}

TEST_F(RecoveryTest, WhatASessionLeftIsTriedAgain) {
  std::string path;
  {
    auto left = Journal::Create(state_dir_, {.pid = kNobody, .start_ticks = 1}, {}, {});
    ASSERT_TRUE(left.ok()) << left.status();
    ASSERT_TRUE(left->StepAside().ok());
    path = left->path();
  }
  RetryRecovery(state_dir_, files_);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(RecoveryTest, WhatCannotBeReadIsSetAside) {
  Put("1-1", "not a journal\n");
  EXPECT_EQ(Recover().failed, 1);
  EXPECT_FALSE(Exists("1-1"));
  EXPECT_TRUE(Exists("1-1.broken"));
  EXPECT_EQ(Recover().failed, 0) << "and not looked at again";
  EXPECT_TRUE(Exists("1-1.broken"));
}

TEST_F(RecoveryTest, OneThatCannotBeReadDoesNotKeepTheOthers) {
  Put("1-1", "not a journal\n");
  Put("2-2", Header(kNobody, 2, ReadBootId()));
  Put("3-3", Header(kNobody, 3, ReadBootId()) + "arm nonsense\n");
  const RecoveryResult result = Recover();
  EXPECT_EQ(result.failed, 1);
  EXPECT_EQ(result.gone, 2);
}

}  // namespace
}  // namespace sbump
