#include "daemon/process/remote_memory.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/process/target_process.h"
#include "tests/process/child.h"

namespace sbump {
namespace {

struct Page {
  std::atomic<int> go = 0;
};

uint64_t word = 0x1122334455667788;
RemoteAddr AddressOf(const void* p) { return {reinterpret_cast<uint64_t>(p)}; }

RemoteMemory MemoryOf(const TargetProcess& process) {
  auto memory = RemoteMemory::Open(process.proc_dirfd(), process.pid());
  EXPECT_TRUE(memory.ok()) << memory.status();
  return std::move(*memory);
}

TEST(RemoteMemoryTest, ReadsAndWritesAChild) {
  auto& shared = SharedWithChildren<Page>();
  Child child([&] {
    while (shared.go == 0) usleep(1000);
    _exit(word == 99 ? 7 : 1);
  });
  const auto process = TargetProcess::Open(child.pid());
  ASSERT_TRUE(process.ok()) << process.status();
  RemoteMemory memory = MemoryOf(*process);
  EXPECT_EQ(*memory.ReadValue<uint64_t>(AddressOf(&word)), 0x1122334455667788u);
  ASSERT_TRUE(memory.WriteValue<uint64_t>(AddressOf(&word), 99).ok());
  EXPECT_EQ(*memory.ReadValue<uint64_t>(AddressOf(&word)), 99u);
  EXPECT_EQ(word, 0x1122334455667788u) << "our own copy";
  shared.go = 1;
  EXPECT_EQ(WEXITSTATUS(child.Wait()), 7);
}

TEST(RemoteMemoryTest, AnUnmappedByteFailsTheWholeRead) {
  void* pages = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(static_cast<char*>(pages) + 4096, 4096);
  Child child([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  const RemoteMemory memory = MemoryOf(*process);
  std::vector<std::byte> bytes(16);
  EXPECT_TRUE(memory.Read(AddressOf(pages) + 4080, bytes).ok());
  const absl::Status status = memory.Read(AddressOf(pages) + 4088, bytes);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  const std::string message(status.message());
  EXPECT_NE(message.find("pid " + std::to_string(child.pid())), std::string::npos) << message;
  EXPECT_NE(message.find("16 bytes at " + ToString(AddressOf(pages) + 4088)), std::string::npos);
  munmap(pages, 4096);
}

TEST(RemoteMemoryTest, AddressesOutsideUserSpaceAreRefused) {
  Child child([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  const RemoteMemory memory = MemoryOf(*process);
  for (const uint64_t addr : {uint64_t{0}, uint64_t{8}, (uint64_t{1} << 47) - 4, uint64_t{1} << 63,
                              UINT64_MAX, UINT64_MAX - 7}) {
    const auto value = memory.ReadValue<uint64_t>({addr});
    EXPECT_TRUE(absl::IsDataLoss(value.status())) << addr << ": " << value.status();
  }
}

TEST(RemoteMemoryTest, AReadAbove64MiBIsRefused) {
  Child child([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  const RemoteMemory memory = MemoryOf(*process);
  std::vector<std::byte> bytes((size_t{64} << 20) + 1);
  EXPECT_TRUE(absl::IsResourceExhausted(memory.Read(AddressOf(&word), bytes)));
}

TEST(RemoteMemoryTest, FailsAfterAnExecInsteadOfReadingTheNewImage) {
  auto& shared = SharedWithChildren<Page>();
  Child child([&] {
    while (shared.go == 0) usleep(1000);
    execl("/bin/sleep", "sleep", "30", nullptr);
  });
  const auto process = TargetProcess::Open(child.pid());
  RemoteMemory memory = MemoryOf(*process);
  shared.go = 1;
  EXPECT_TRUE(Eventually(
      [&] { return absl::IsNotFound(memory.ReadValue<uint64_t>(AddressOf(&word)).status()); }));
  EXPECT_TRUE(process->Alive());
  EXPECT_TRUE(absl::IsNotFound(memory.WriteValue<uint64_t>(AddressOf(&word), 1)));
}

TEST(RemoteMemoryTest, FailsAfterTheEnd) {
  Child child([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  const RemoteMemory memory = MemoryOf(*process);
  child.Kill();
  const auto value = memory.ReadValue<uint64_t>(AddressOf(&word));
  EXPECT_TRUE(absl::IsNotFound(value.status())) << value.status();
}

}  // namespace
}  // namespace sbump
