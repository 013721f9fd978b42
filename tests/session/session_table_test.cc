// The table with sessions that cannot attach: their process does not exist. A session is kept in
// the table for as long as a test likes by its reader of snapshots, which is called on its thread.
#include "daemon/session/session_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include "tests/fakes/no_file_descriptors.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr pid_t kNobody = (1 << 22) + 17;  // pids end at 2^22

AttachSpec SpecFor(pid_t pid) {
  AttachSpec spec;
  spec.pid = pid;
  spec.client_name = "sbumpctl (pid 77) by root";
  std::vector<Pattern> patterns;
  patterns.push_back(*ParsePattern("*:f"));
  spec.rules.targets =
      std::make_shared<const TargetList>(std::move(patterns), std::vector<Pattern>(), false);
  return spec;
}

class SessionTableTest : public testing::Test {
 protected:
  InterpreterFileCache files;
  WalkTurn walk_turn;
  SessionTable table{{.files = &files, .walk_turn = &walk_turn, .state_dir = "/nonexistent"}};

  static void IgnoreSnapshots(std::shared_ptr<const SessionSnapshot>) {}
  static void IgnoreEnd(absl::Status) {}
};

// Opened by the test's end at the latest.
class Gate {
 public:
  ~Gate() { Open(); }
  void Open() {
    if (!std::exchange(open_, true)) promise_.set_value();
  }
  SnapshotSink Sink() const {
    return [future = future_, has_reader = has_reader_](auto) {
      *has_reader = true;
      future.wait();
    };
  }
  void AwaitReader() const {
    while (!*has_reader_) std::this_thread::yield();
  }

 private:
  bool open_ = false;
  const std::shared_ptr<std::atomic<bool>> has_reader_ = std::make_shared<std::atomic<bool>>(false);
  std::promise<void> promise_;
  std::shared_future<void> future_ = promise_.get_future().share();
};

TEST_F(SessionTableTest, AnAttachThatFailsSaysWhyOnce) {
  std::promise<absl::Status> end;
  const auto session = table.Begin(SpecFor(kNobody), IgnoreSnapshots,
                                   [&](absl::Status status) { end.set_value(status); });
  ASSERT_TRUE(session.ok()) << session.status();
  const absl::Status status = end.get_future().get();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("4194321"));
  EXPECT_THAT(table.All(), IsEmpty());
  EXPECT_EQ(table.Find((*session)->id()), nullptr);
}

TEST_F(SessionTableTest, WithoutFileDescriptorsItRefusesInWords) {
  absl::Status refused;
  {
    const NoFileDescriptors none;
    refused = table.Begin(SpecFor(kNobody), IgnoreSnapshots, IgnoreEnd).status();
  }
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("Too many open files"));
  EXPECT_THAT(table.All(), IsEmpty());
  EXPECT_TRUE(table.Begin(SpecFor(kNobody), IgnoreSnapshots, IgnoreEnd).ok());
}

TEST_F(SessionTableTest, ASecondSessionOnAProcessIsToldOfTheFirst) {
  Gate gate;
  const auto first = table.Begin(SpecFor(kNobody), gate.Sink(), IgnoreEnd);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = table.Begin(SpecFor(kNobody), IgnoreSnapshots, IgnoreEnd).status();
  EXPECT_TRUE(absl::IsAlreadyExists(second)) << second;
  EXPECT_THAT(std::string(second.message()),
              HasSubstr("is held by session s1 of sbumpctl (pid 77) by root"));
  EXPECT_EQ(table.Find("s1"), *first);
  EXPECT_EQ(table.FindByPid(kNobody), *first);
  EXPECT_EQ(table.FindByPid(kNobody + 1), nullptr);
  EXPECT_EQ(table.Find("s2"), nullptr);
}

TEST_F(SessionTableTest, NoMoreThanItsLimit) {
  Gate gate;
  for (size_t i = 0; i < SessionTable::kMaxSessions; ++i) {
    ASSERT_TRUE(table.Begin(SpecFor(kNobody + static_cast<pid_t>(i)), gate.Sink(), IgnoreEnd).ok());
  }
  const absl::Status status = table.Begin(SpecFor(1), IgnoreSnapshots, IgnoreEnd).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(table.All(), SizeIs(SessionTable::kMaxSessions));
}

TEST_F(SessionTableTest, AShutdownEndsAllAndRefusesNew) {
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(table.Begin(SpecFor(kNobody + i), IgnoreSnapshots, IgnoreEnd).ok());
  table.Shutdown();
  EXPECT_THAT(table.All(), IsEmpty());
  EXPECT_TRUE(
      absl::IsUnavailable(table.Begin(SpecFor(kNobody), IgnoreSnapshots, IgnoreEnd).status()));
  table.Shutdown();
}

TEST_F(SessionTableTest, AnEndIsToldAsTheSessionIsOutOfTheTable) {
  std::atomic<int> ended = 0, held = 0;
  SessionTable telling({.files = &files, .walk_turn = &walk_turn, .state_dir = "/nonexistent"},
                       [&] {
                         ++ended;
                         held += telling.FindByPid(kNobody) != nullptr;
                       });
  ASSERT_TRUE(telling.Begin(SpecFor(kNobody), IgnoreSnapshots, IgnoreEnd).ok());
  telling.Shutdown();
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(held, 0);
}

TEST_F(SessionTableTest, AShutdownGivesUpOnASessionThatDoesNotEnd) {
  Gate gate;
  ASSERT_TRUE(table.Begin(SpecFor(kNobody), gate.Sink(), IgnoreEnd).ok());
  gate.AwaitReader();  // nobody else has to wait for one
  EXPECT_THAT(table.Shutdown({.without_progress = std::chrono::milliseconds(200)}),
              ElementsAre("s1"));
}

TEST_F(SessionTableTest, ChangesToASessionThatIsOverAreAnswered) {
  std::promise<void> ended;
  const auto session =
      *table.Begin(SpecFor(kNobody), IgnoreSnapshots, [&](absl::Status) { ended.set_value(); });
  ended.get_future().wait();
  std::promise<absl::Status> answer;
  session->ChangeRules({.delay_ns = 1},
                       [&](absl::StatusOr<RulesInForce> now) { answer.set_value(now.status()); });
  EXPECT_TRUE(absl::IsNotFound(answer.get_future().get()));
}

// The session ends before it can act on the change.
TEST_F(SessionTableTest, ChangesToASessionThatNeverBecomesActiveAreAnswered) {
  Gate gate;
  std::promise<absl::Status> answer;
  const auto session = *table.Begin(SpecFor(kNobody), gate.Sink(), IgnoreEnd);
  std::thread change([&] {
    session->ChangeRules({.delay_ns = 1},
                         [&](absl::StatusOr<RulesInForce> now) { answer.set_value(now.status()); });
  });
  gate.Open();
  change.join();
  EXPECT_FALSE(answer.get_future().get().ok());
}

}  // namespace
}  // namespace sbump
