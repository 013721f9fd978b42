#include "daemon/gate/refusal_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <vector>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;

AuditRecord Refusal(uid_t uid) {
  return {.event = "refused", .caller = {.uid = uid, .pid = 7}, .action = "list", .reason = "no"};
}

// A disk that stands still until it is let go.
class RefusalLogTest : public testing::Test {
 protected:
  void Let() { go_.set_value(); }
  // Its thread has taken the first one, and waits for the disk.
  void StandStill() {
    log_->Add(Refusal(0));
    begun_.get_future().wait();
  }
  std::string All() {
    log_.reset();
    std::string all;
    for (const std::string& batch : batches_) all += batch;
    return all;
  }

  std::promise<void> begun_, go_;
  std::vector<std::string> batches_;
  std::unique_ptr<RefusalLog> log_ = std::make_unique<RefusalLog>([this](std::string_view lines) {
    if (batches_.empty()) begun_.set_value();
    batches_.emplace_back(lines);
    if (batches_.size() == 1) go_.get_future().wait();
  });
};

size_t LinesOf(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST_F(RefusalLogTest, WhatIsOverTheBoundsIsCounted) {
  StandStill();
  for (int i = 0; i < 100'000; ++i) log_->Add(Refusal(1000));
  log_->Add(Refusal(1001));
  Let();
  const std::string all = All();
  ASSERT_EQ(batches_.size(), 2u);
  EXPECT_EQ(LinesOf(batches_[1]), RefusalLog::kMostOfOneCaller + 2);
  EXPECT_THAT(all, HasSubstr(StrCat("\"caller\":{\"uid\":1000,\"pid\":0},\"reason\":\"",
                                    100'000 - RefusalLog::kMostOfOneCaller,
                                    " more refusals of uid 1000 were not recorded one by one\"")));
  EXPECT_THAT(all, HasSubstr("{\"uid\":1001,\"pid\":7},\"action\":\"list\""))
      << "one caller leaves room for others";
}

TEST_F(RefusalLogTest, ManyCallersAreBoundedToo) {
  StandStill();
  constexpr size_t kCallers = 10'000;
  for (uid_t uid = 1; uid <= kCallers; ++uid) log_->Add(Refusal(uid));
  Let();
  const std::string all = All();
  ASSERT_EQ(batches_.size(), 2u);
  EXPECT_EQ(LinesOf(batches_[1]), RefusalLog::kMost + 1);
  EXPECT_THAT(all, HasSubstr(StrCat(kCallers - RefusalLog::kMost,
                                    " more refusals of several other callers")));
}

// A command line has megabytes.
TEST_F(RefusalLogTest, LongTextsAreCut) {
  StandStill();
  AuditRecord refusal = Refusal(0);
  refusal.target = TargetFacts{.cmdline = std::string(4 << 20, 'x')};
  for (uid_t uid = 1; uid <= RefusalLog::kMost; ++uid) {
    refusal.caller.uid = uid;
    log_->Add(refusal);
  }
  Let();
  All();
  ASSERT_EQ(batches_.size(), 2u);
  EXPECT_EQ(LinesOf(batches_[1]), RefusalLog::kMost);
  EXPECT_LT(batches_[1].size(), RefusalLog::kMost * 8192);
}

}  // namespace
}  // namespace sbump
