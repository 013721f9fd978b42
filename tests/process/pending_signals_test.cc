#include "daemon/process/pending_signals.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "tests/process/child.h"

namespace sbump {
namespace {

std::string Status(const char* thread, const char* process, const char* blocked,
                   const char* ignored, const char* caught) {
  return std::string("Name:\tpython\nSigQ:\t0/63000\nSigPnd:\t") + thread + "\nShdPnd:\t" +
         process + "\nSigBlk:\t" + blocked + "\nSigIgn:\t" + ignored + "\nSigCgt:\t" + caught +
         "\n";
}

constexpr const char* kNone = "0000000000000000";
constexpr const char* kTerm = "0000000000004000";   // 15
constexpr const char* kChild = "0000000000010000";  // 17
constexpr uint64_t kTermBit = 0x4000, kChildBit = 0x10000;

TEST(PendingSignalsTest, WhatWaitsForTheThreadOrTheProcess) {
  EXPECT_EQ(SignalsToTake(Status(kNone, kNone, kNone, kNone, kNone)), 0u);
  EXPECT_EQ(SignalsToTake(Status(kTerm, kNone, kNone, kNone, kNone)), kTermBit);
  EXPECT_EQ(SignalsToTake(Status(kNone, kTerm, kNone, kNone, kTerm)), kTermBit);
}

TEST(PendingSignalsTest, NotWhatIsBlockedOrIgnored) {
  EXPECT_EQ(SignalsToTake(Status(kTerm, kTerm, kTerm, kNone, kNone)), 0u);
  EXPECT_EQ(SignalsToTake(Status(kTerm, kTerm, kNone, kTerm, kNone)), 0u);
}

TEST(PendingSignalsTest, NotWhatIsIgnoredByDefaultUnlessItIsCaught) {
  EXPECT_EQ(SignalsToTake(Status(kChild, kNone, kNone, kNone, kNone)), 0u);
  EXPECT_EQ(SignalsToTake(Status(kChild, kNone, kNone, kNone, kChild)), kChildBit);
}

TEST(PendingSignalsTest, TextThatSaysNothing) {
  EXPECT_EQ(SignalsToTake(""), 0u);
  EXPECT_EQ(SignalsToTake("ShdPnd:\tzz\n"), 0u);
}

// A child that blocks SIGUSR1 has none to take; an unblocked one is taken before anybody looks.
TEST(PendingSignalsTest, OfARealProcess) {
  const Child child([] {
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, nullptr);
    raise(SIGUSR1);
    pause();
  });
  const auto process = TargetProcess::Open(child.pid());
  ASSERT_TRUE(process.ok());
  const auto pending = [&] {
    const auto status = process->ReadProcFile("status", 16384);
    return status.ok() && status->find("SigPnd:\t0000000000000200") != std::string::npos;
  };
  ASSERT_TRUE(Eventually(pending));
  EXPECT_FALSE(HasSignalToTake(*process, child.pid()));
}

}  // namespace
}  // namespace sbump
