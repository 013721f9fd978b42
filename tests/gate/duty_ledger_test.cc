#include "daemon/gate/duty_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbump {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr TargetId kTarget{.pid = 42, .start_ticks = 7};

TEST(DutyLedgerTest, SessionsInARowAddUp) {
  DutyLedger ledger;
  uint64_t now_ns = 5'000 * kMs;
  for (int session = 0; session < 3; ++session) {
    ledger.Add("uid 1", kTarget, now_ns, 0);
    for (int i = 0; i < 2; ++i) {
      now_ns += 450 * kMs;
      const double share = ledger.Add("uid 1", kTarget, now_ns, 100 * kMs);
      EXPECT_GE(share, session == 0 && i == 0 ? 0.1 : 0.18) << session << " " << i;
    }
    now_ns += 50 * kMs;  // until the next one
  }
}

TEST(DutyLedgerTest, EachCallerAndEachProcessHasItsOwn) {
  DutyLedger ledger;
  ledger.Add("uid 1", kTarget, 5'000 * kMs, 900 * kMs);
  EXPECT_DOUBLE_EQ(ledger.Add("uid 2", kTarget, 5'100 * kMs, 0), 0.0);
  EXPECT_DOUBLE_EQ(ledger.Add("uid 1", {.pid = 42, .start_ticks = 8}, 5'100 * kMs, 0), 0.0);
  EXPECT_DOUBLE_EQ(ledger.Add("uid 1", kTarget, 5'100 * kMs, 0), 0.9);
}

TEST(DutyLedgerTest, APauseIsForgottenAndThinsNothingOut) {
  DutyLedger ledger;
  ledger.Add("uid 1", kTarget, 5'000 * kMs, 900 * kMs);
  EXPECT_DOUBLE_EQ(ledger.Add("uid 1", kTarget, 65'000 * kMs, 0), 0.0);
  EXPECT_DOUBLE_EQ(ledger.Add("uid 1", kTarget, 65'400 * kMs, 400 * kMs), 0.4);
}

TEST(DutyLedgerTest, OldOnesAreForgotten) {
  DutyLedger ledger;
  ledger.Add("uid 1", kTarget, 5'000 * kMs, 900 * kMs);
  ledger.ForgetOld(5'900 * kMs);
  EXPECT_DOUBLE_EQ(ledger.Add("uid 1", kTarget, 5'900 * kMs, 0), 0.9);
  ledger.ForgetOld(7'000 * kMs);
  EXPECT_DOUBLE_EQ(ledger.Add("uid 1", kTarget, 5'900 * kMs, 0), 0.0);
}

}  // namespace
}  // namespace sbump
