#include "daemon/session/process_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>

#include "tests/fakes/no_file_descriptors.h"
#include "tests/process/child.h"

namespace sbump {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

char StateOf(pid_t pid) {
  const auto process = TargetProcess::Open(pid);
  const auto text = process.ok() ? process->ReadProcFile("stat", 4096) : process.status();
  return text.ok() ? ParseProcStat(*text)->state : '?';
}

// A child that calls exec at once, or a session that ends at that moment.
TEST(ProcessSessionTest, WhatWasHeldIsLetGoWhereThePartEndsBeforeItsAttach) {
  Child child([] {
    while (true) pause();
  });
  auto stop =
      PtraceStop::StopNewborn(TargetProcess::Open(child.pid())->id(), seconds(5), seconds(50));
  ASSERT_TRUE(stop.ok()) << stop.status();
  ASSERT_TRUE(stop->Await().ok()) << stop->Await();
  ASSERT_EQ(StateOf(child.pid()), 't');
  ProcessSession process("s1", {.process = {.pid = child.pid()}}, *std::move(stop), AttachSpec{},
                         {}, std::make_shared<DelayWindow>(0, 0, 0), /*opens_window=*/false);
  process.Stop("target called exec");
  std::promise<absl::Status> ended;
  process.Start({.on_progress = [] {},
                 .on_active = [] {},
                 .on_end = [&](absl::Status status) { ended.set_value(std::move(status)); }});
  EXPECT_TRUE(absl::IsCancelled(ended.get_future().get()));
  EXPECT_NE(StateOf(child.pid()), 't');
}

TEST(ProcessSessionTest, AllSessionsTogetherHaveALimit) {
  Quota seats(1);
  const auto end_of_one = [&seats] {
    ProcessSession process("s1", {.process = {.pid = getpid()}}, {}, AttachSpec{},
                           {.processes = &seats}, std::make_shared<DelayWindow>(0, 0, 0),
                           /*opens_window=*/false);
    std::promise<absl::Status> ended;
    process.Start({.on_progress = [] {},
                   .on_active = [] {},
                   .on_end = [&](absl::Status status) { ended.set_value(std::move(status)); }});
    return ended.get_future().get();
  };
  EXPECT_FALSE(absl::IsResourceExhausted(end_of_one()));
  EXPECT_FALSE(absl::IsResourceExhausted(end_of_one()));  // the seat was given back
  const auto last = seats.Take();
  ASSERT_TRUE(last);
  const absl::Status refused = end_of_one();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("sbumpd is on 1 processes already, the most it takes"));
}

TEST(ProcessSessionTest, AnotherProcessOfThatNumberIsNotTaken) {
  Child child([] {
    while (true) pause();
  });
  TargetId earlier = TargetProcess::Open(child.pid())->id();
  --earlier.start_ticks;
  ProcessSession process("s1", {.process = earlier}, {}, AttachSpec{}, {},
                         std::make_shared<DelayWindow>(0, 0, 0), /*opens_window=*/false);
  std::promise<absl::Status> ended;
  process.Start({.on_progress = [] {},
                 .on_active = [] {},
                 .on_end = [&](absl::Status status) { ended.set_value(std::move(status)); }});
  const absl::Status status = ended.get_future().get();
  process.JoinThread();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("another process has its number"));
}

TEST(ProcessSessionTest, WithoutFileDescriptorsItEndsInWords) {
  ProcessSession process("s1", {.process = {.pid = getpid()}}, {}, AttachSpec{}, {},
                         std::make_shared<DelayWindow>(0, 0, 0), /*opens_window=*/false);
  absl::Status ended;
  {
    const NoFileDescriptors none;
    process.Start({.on_progress = [] {},
                   .on_active = [] {},
                   .on_end = [&](absl::Status status) { ended = std::move(status); }});
  }
  EXPECT_TRUE(absl::IsResourceExhausted(ended)) << ended;
  EXPECT_THAT(std::string(ended.message()), HasSubstr("Too many open files"));
  EXPECT_EQ(process.latest()->state, SessionState::kEnded);
  std::promise<void> refreshed;
  process.Refresh([&] { refreshed.set_value(); });
  refreshed.get_future().wait();
}

}  // namespace
}  // namespace sbump
