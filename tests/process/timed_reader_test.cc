#include "daemon/process/timed_reader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>

#include "daemon/base/clock.h"

namespace sbump {
namespace {

constexpr int kReadsBetweenLooks = 32;  // at the clock

// Counts reads; has nothing in the first page.
class CountingMemory : public MemoryReader {
 public:
  absl::Status Read(RemoteAddr addr, std::span<std::byte> out) const override {
    ++reads;
    if (addr.value < 4096) return absl::DataLossError("not mapped");
    for (std::byte& byte : out) byte = std::byte{7};
    return absl::OkStatus();
  }
  mutable int reads = 0;
};

class TimedReaderTest : public testing::Test {
 protected:
  static constexpr RemoteAddr kPlace{0x5000};
  CountingMemory memory;

  static void SleepUntil(uint64_t deadline_ns) {
    while (MonotonicNs() < deadline_ns) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

TEST_F(TimedReaderTest, BeforeTheDeadlineReadsAreTheSources) {
  const TimedReader reader(memory, UINT64_MAX, "too long");
  for (int i = 0; i < 3 * kReadsBetweenLooks; ++i) EXPECT_EQ(*reader.ReadValue<uint8_t>(kPlace), 7);
  EXPECT_EQ(memory.reads, 3 * kReadsBetweenLooks);
  EXPECT_EQ(reader.ReadPointer({16}).status().message(), "not mapped");
  EXPECT_FALSE(reader.over());
}

TEST_F(TimedReaderTest, AfterTheDeadlineNothingIsRead) {
  const TimedReader reader(memory, MonotonicNs(), "reading took too long");
  for (int i = 0; i < 3; ++i) {
    const absl::Status status = reader.ReadPointer(kPlace).status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    EXPECT_EQ(status.message(), "reading took too long");
  }
  EXPECT_EQ(memory.reads, 0);
  EXPECT_TRUE(reader.over());
}

TEST_F(TimedReaderTest, TheClockIsLookedAtNowAndThen) {
  const uint64_t deadline_ns = MonotonicNs() + 300'000'000;
  const TimedReader reader(memory, deadline_ns, "too long");
  ASSERT_TRUE(reader.ReadPointer(kPlace).ok());
  SleepUntil(deadline_ns);
  for (int i = 1; i < kReadsBetweenLooks; ++i) ASSERT_TRUE(reader.ReadPointer(kPlace).ok()) << i;
  EXPECT_FALSE(reader.over());
  EXPECT_TRUE(absl::IsDeadlineExceeded(reader.ReadPointer(kPlace).status()));
  EXPECT_TRUE(reader.over());
  EXPECT_EQ(memory.reads, kReadsBetweenLooks);
  EXPECT_TRUE(absl::IsDeadlineExceeded(reader.ReadPointer(kPlace).status())) << "for good";
}

TEST_F(TimedReaderTest, ReadsThatFailCountToo) {
  const uint64_t deadline_ns = MonotonicNs() + 300'000'000;
  const TimedReader reader(memory, deadline_ns, "too long");
  for (int i = 0; i < kReadsBetweenLooks; ++i)
    ASSERT_TRUE(absl::IsDataLoss(reader.ReadPointer({16}).status()));
  SleepUntil(deadline_ns);
  EXPECT_TRUE(absl::IsDeadlineExceeded(reader.ReadPointer({16}).status()));
}

}  // namespace
}  // namespace sbump
