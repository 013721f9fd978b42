#include "daemon/attach/stop_to_restore.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "daemon/base/clock.h"
#include "tests/process/child.h"

// A thread stands between these two as long as it is told to.
extern "C" void sb_test_count(std::atomic<int>* stay);
extern "C" const char sb_test_counting_begin[], sb_test_counting_end[];
asm(R"(
  .text
  .globl sb_test_count, sb_test_counting_begin, sb_test_counting_end
sb_test_count:
sb_test_counting_begin:
  cmpl $0, (%rdi)
  jne sb_test_counting_begin
sb_test_counting_end:
  ret
)");

namespace sbump {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Of a program in which each instruction of sb_test_count() holds a counter.
Interpreter WhereItCounts() {
  constexpr uint64_t kBias = 0x1000;
  auto file = std::make_shared<InterpreterFile>();
  for (const char* at = sb_test_counting_begin; at != sb_test_counting_end; ++at)
    file->sites.hit.counting.push_back(reinterpret_cast<uint64_t>(at) - kBias);
  Interpreter interpreter;
  interpreter.file = file;
  interpreter.load_bias = kBias;
  return interpreter;
}

struct Shared {
  std::atomic<int> stay = 1;
  std::atomic<int> counting = 0;
};

class StopToRestoreTest : public testing::Test {
 protected:
  TargetProcess CountingProcess(Child& child) {
    EXPECT_TRUE(Eventually([this] { return shared_.counting == 1; }));
    std::this_thread::sleep_for(milliseconds(1));
    auto process = TargetProcess::Open(child.pid());
    EXPECT_TRUE(process.ok()) << process.status();
    return std::move(*process);
  }
  void Count() {
    shared_.counting = 1;
    sb_test_count(&shared_.stay);
    pause();
  }

  Shared& shared_ = SharedWithChildren<Shared>();
  int let_go_ = 0;
};

TEST_F(StopToRestoreTest, LetsAThreadWriteItsCounterBackFirst) {
  Child child([this] { Count(); });
  const TargetProcess process = CountingProcess(child);
  const uint64_t begin_ns = MonotonicNs();
  std::thread later([this] {
    std::this_thread::sleep_for(milliseconds(50));
    shared_.stay = 0;
  });
  const auto stop = StopToRestore(process, WhereItCounts(), seconds(30),
                                  [this](const PtraceStop&) { ++let_go_; });
  later.join();
  ASSERT_TRUE(stop.ok()) << stop.status();
  EXPECT_GE(MonotonicNs() - begin_ns, 40'000'000u);
  EXPECT_GT(let_go_, 0);
}

TEST_F(StopToRestoreTest, SaysThatAThreadNeverDoes) {
  Child child([this] { Count(); });
  const TargetProcess process = CountingProcess(child);
  const auto stop = StopToRestore(process, WhereItCounts(), milliseconds(50));
  EXPECT_EQ(stop.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(stop.status().ToString().find("counts a call"), std::string::npos) << stop.status();
}

TEST_F(StopToRestoreTest, StopsAtOnceWhereNoThreadCounts) {
  shared_.stay = 0;
  Child child([this] { Count(); });
  const TargetProcess process = CountingProcess(child);
  const auto stop = StopToRestore(process, WhereItCounts(), seconds(30),
                                  [this](const PtraceStop&) { ++let_go_; });
  ASSERT_TRUE(stop.ok()) << stop.status();
  EXPECT_EQ(let_go_, 0);
  EXPECT_EQ(stop->instruction_pointers().size(), stop->thread_count());
  EXPECT_EQ(std::ranges::count(stop->instruction_pointers(), 0u), 0);
}

}  // namespace
}  // namespace sbump
