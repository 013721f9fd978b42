#include "daemon/attach/program_reserve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <vector>

namespace sbump {
namespace {

using ::testing::ElementsAre;

sb_config ConfigOf(uint8_t opcode) {
  sb_config config{};
  config.instrumented_opcode = opcode;
  return config;
}

// Stands in for the kernel: notes what is loaded, in order.
class Loads {
 public:
  ProgramReserve::Loader loader() {
    return [this](const sb_config& config, ProgramSet) -> ProgramReserve::Loaded {
      std::lock_guard lock(mutex_);
      opcodes_.push_back(config.instrumented_opcode);
      changed_.notify_all();
      if (fails_ != 0 && fails_-- != 0) return absl::ResourceExhaustedError("no memory");
      return std::unique_ptr<Programs>();
    };
  }
  void FailNext(int count) {
    std::lock_guard lock(mutex_);
    fails_ = count;
  }
  // Once there are so many.
  std::vector<uint8_t> First(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return opcodes_.size() >= count; });
    return opcodes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<uint8_t> opcodes_;
  int fails_ = 0;
};

TEST(ProgramReserveTest, LoadsOneMoreThanIsTaken) {
  Loads loads;
  ProgramReserve reserve(loads.loader());
  for (size_t taken = 1; taken <= 3; ++taken) {
    EXPECT_TRUE(reserve.Take(ConfigOf(7), {}).ok());
    EXPECT_EQ(loads.First(taken + 1).size(), taken + 1);
  }
}

TEST(ProgramReserveTest, GivesNobodyTheProgramsOfAnother) {
  Loads loads;
  ProgramReserve reserve(loads.loader());
  EXPECT_TRUE(reserve.Take(ConfigOf(1), {}).ok());
  loads.First(2);
  EXPECT_TRUE(reserve.Take(ConfigOf(2), {}).ok());
  EXPECT_THAT(loads.First(4), ElementsAre(1, 1, 2, 2));
  EXPECT_TRUE(reserve.Take(ConfigOf(2), {.one_of_several = true}).ok());
  EXPECT_THAT(loads.First(6), ElementsAre(1, 1, 2, 2, 2, 2));
}

TEST(ProgramReserveTest, ASpareThatCouldNotBeLoadedFailsNobody) {
  Loads loads;
  ProgramReserve reserve(loads.loader());
  EXPECT_TRUE(reserve.Take(ConfigOf(1), {}).ok());
  loads.First(2);
  loads.FailNext(1);  // the spare that the next one leaves
  EXPECT_TRUE(reserve.Take(ConfigOf(1), {}).ok());
  loads.First(3);
  EXPECT_TRUE(reserve.Take(ConfigOf(1), {}).ok());
  EXPECT_EQ(loads.First(5).size(), 5u);
}

TEST(ProgramReserveTest, LoadsNothingAheadOnceItIsClosed) {
  Loads loads;
  ProgramReserve reserve(loads.loader());
  EXPECT_TRUE(reserve.Take(ConfigOf(1), {}).ok());
  reserve.Close();
  EXPECT_EQ(loads.First(2).size(), 2u);
  EXPECT_TRUE(reserve.Take(ConfigOf(1), {}).ok());
  EXPECT_EQ(loads.First(3).size(), 3u);
}

TEST(ProgramReserveTest, WhatLoadingASpareThrowsFailsNobody) {
  std::atomic<int> loads = 0;
  ProgramReserve reserve([&](const sb_config&, ProgramSet) -> ProgramReserve::Loaded {
    if (loads++ < 2) throw std::bad_alloc();
    return std::unique_ptr<Programs>();
  });
  EXPECT_THROW(reserve.Take(ConfigOf(1), {}).IgnoreError(), std::bad_alloc);
  EXPECT_TRUE(reserve.Take(ConfigOf(1), {}).ok());
}

TEST(ProgramReserveTest, TellsWhyThereAreNone) {
  Loads loads;
  loads.FailNext(100);
  ProgramReserve reserve(loads.loader());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(reserve.Take(ConfigOf(1), {}).status().message(), "no memory");
  }
}

}  // namespace
}  // namespace sbump
