#include "daemon/process/image_random.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>

#include "tests/process/child.h"

namespace sbump {
namespace {

std::string Auxv(std::initializer_list<std::pair<uint64_t, uint64_t>> entries) {
  std::string text;
  for (const auto& [type, value] : entries) {
    const Elf64_auxv_t entry{.a_type = type, .a_un = {.a_val = value}};
    text.append(reinterpret_cast<const char*>(&entry), sizeof(entry));
  }
  return text;
}

TEST(AuxiliaryValueTest, IsFoundByItsType) {
  const std::string auxv = Auxv({{AT_PAGESZ, 4096}, {AT_RANDOM, 0x7000}, {AT_NULL, 0}});
  EXPECT_EQ(AuxiliaryValue(auxv, AT_RANDOM), 0x7000u);
  EXPECT_EQ(AuxiliaryValue(auxv, AT_PAGESZ), 4096u);
  EXPECT_EQ(AuxiliaryValue(auxv, AT_UID), std::nullopt);
}

TEST(AuxiliaryValueTest, EndsWithTheNullEntryOrTheText) {
  EXPECT_EQ(AuxiliaryValue(Auxv({{AT_NULL, 0}, {AT_RANDOM, 1}}), AT_RANDOM), std::nullopt);
  EXPECT_EQ(AuxiliaryValue(Auxv({{AT_RANDOM, 1}}).substr(0, 15), AT_RANDOM), std::nullopt);
  EXPECT_EQ(AuxiliaryValue("", AT_RANDOM), std::nullopt);
}

absl::StatusOr<ImageRandom> RandomOf(pid_t pid) {
  SB_ASSIGN_OR_RETURN(const TargetProcess process, TargetProcess::Open(pid));
  SB_ASSIGN_OR_RETURN(const RemoteMemory memory,
                      RemoteMemory::Open(process.proc_dirfd(), process.pid()));
  return ReadImageRandom(process, memory);
}

// A fork has its parent's.
TEST(ImageRandomTest, IsWhatTheKernelGave) {
  const Child child([] { pause(); });
  const auto random = RandomOf(child.pid());
  ASSERT_TRUE(random.ok()) << random.status();
  EXPECT_EQ(random->addr.value, getauxval(AT_RANDOM));
  EXPECT_EQ(std::memcmp(random->bytes.data(), reinterpret_cast<void*>(getauxval(AT_RANDOM)), 16),
            0);
}

TEST(ImageRandomTest, AFork) {
  const Child child([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  ASSERT_TRUE(process.ok()) << process.status();
  const auto memory = RemoteMemory::Open(process->proc_dirfd(), process->pid());
  ASSERT_TRUE(memory.ok()) << memory.status();
  ImageRandom image{.addr = RemoteAddr{getauxval(AT_RANDOM)}};
  std::memcpy(image.bytes.data(), reinterpret_cast<void*>(getauxval(AT_RANDOM)), 16);
  EXPECT_TRUE(HasImage(*process, *memory, image).value());
  ImageRandom other = image;
  other.bytes[1] ^= 1;
  EXPECT_FALSE(HasImage(*process, *memory, other).value());
  // The same bytes at another place.
  static ImageBytes copy;
  copy = image.bytes;
  other = {.addr = RemoteAddr{reinterpret_cast<uint64_t>(&copy)}, .bytes = image.bytes};
  EXPECT_FALSE(HasImage(*process, *memory, other).value());
}

TEST(ImageRandomTest, DiffersAfterAnExec) {
  auto& may_execute = SharedWithChildren<std::atomic<bool>>();
  Child child([&] {
    while (!may_execute) usleep(1000);
    execl("/bin/sleep", "sleep", "60", nullptr);
  });
  const auto process = TargetProcess::Open(child.pid());
  ASSERT_TRUE(process.ok()) << process.status();
  const auto memory = RemoteMemory::Open(process->proc_dirfd(), process->pid());
  ASSERT_TRUE(memory.ok()) << memory.status();
  const auto before = ReadImageRandom(*process, *memory);
  ASSERT_TRUE(before.ok()) << before.status();
  may_execute = true;
  // Of the memory that is gone nothing can be said.
  EXPECT_TRUE(Eventually(
      [&] { return absl::IsFailedPrecondition(ReadImageRandom(*process, *memory).status()); }));
  EXPECT_TRUE(Eventually([&] {
    const auto after = RandomOf(child.pid());
    return after.ok() && after->bytes != before->bytes;
  }));
}

// ---- RunsAnotherImage ----

// Its memory is a second process's, too, which outlives the exec.
class SharedImageTest : public testing::Test {
 protected:
  SharedImageTest()
      : child_([this] {
          ShareMemory();
          while (!may_execute_) usleep(1000);
          execl("/bin/sleep", "sleep", "60", nullptr);
        }),
        process_(*TargetProcess::Open(child_.pid())),
        memory_(*RemoteMemory::Open(process_.proc_dirfd(), process_.pid())),
        random_addr_{getauxval(AT_RANDOM)} {}

  static void ShareMemory() {
    constexpr size_t kStackBytes = 65536;
    char* stack = new char[kStackBytes];
    const auto stay = [](void*) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (true) pause();
      return 0;
    };
    if (clone(stay, stack + kStackBytes, CLONE_VM, nullptr) < 0) _exit(1);
  }
  bool RunsAnother() const { return RunsAnotherImage(process_, memory_, random_addr_); }

  std::atomic<bool>& may_execute_ = SharedWithChildren<std::atomic<bool>>();
  Child child_;
  TargetProcess process_;
  RemoteMemory memory_;
  const RemoteAddr random_addr_;
};

TEST_F(SharedImageTest, IsToldByTheMemoryThatTheProcessHasNow) {
  EXPECT_FALSE(RunsAnother());
  may_execute_ = true;
  EXPECT_TRUE(Eventually([&] { return RunsAnother(); }));
  EXPECT_TRUE(memory_.ReadValue<uint8_t>(random_addr_).ok());  // what it ran before is there still
}

TEST_F(SharedImageTest, WhatTheProcessWritesThereIsNoSign) {
  const ImageBytes others{1, 2};
  ASSERT_TRUE(memory_.WriteValue(random_addr_, others).ok());
  EXPECT_FALSE(RunsAnother());
}

TEST_F(SharedImageTest, NorIsAPlaceWhereNothingIs) {
  EXPECT_FALSE(RunsAnotherImage(process_, memory_, RemoteAddr{4096}));
}

TEST_F(SharedImageTest, NorIsItsEnd) {
  child_.Kill();
  EXPECT_FALSE(RunsAnother());
}

}  // namespace
}  // namespace sbump
