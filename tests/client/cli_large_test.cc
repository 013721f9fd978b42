// 50,000 targets: the last update comes in pieces and leaves as one line.
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/client/child.h"
#include "tests/client/fake_control.h"
#include "tests/client/samples.h"

namespace sbump::test {
namespace {

using ::testing::HasSubstr;

constexpr int kRows = 50'000;
constexpr int kRowsInAPiece = 10'000;

Script InPieces() {
  Script script;
  script.attach.first = {Attaching(), Active(1, 5)};
  const v1::SessionUpdate end = Ended(2, 6, "duration over");
  for (int row = 0; row < kRows;) {
    v1::SessionUpdate piece;
    piece.set_session_id("s-1");
    piece.set_state(v1::ENDED);
    for (int i = 0; i < kRowsInAPiece; ++i, ++row) {
      *piece.add_targets() = Stats("f" + std::to_string(row), 1, 10'000);
    }
    piece.set_more(true);
    script.attach.last.push_back(piece);
  }
  script.attach.last.push_back(end);
  script.attach.last.back().clear_targets();
  return script;
}

std::vector<std::string> Arguments(const FakeControl& daemon, const std::string& format) {
  return {"--endpoint", daemon.endpoint(), "attach", "4242", "--target",
          "*:f*",       "--format",        format};
}

TEST(Large, JsonIsOneLine) {
  FakeControl daemon(InPieces());
  const ChildResult result = RunSbumpctl(Arguments(daemon, "json"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 3);
  const size_t start = result.out.rfind('\n', result.out.size() - 2) + 1;
  v1::SessionUpdate update;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(result.out.substr(start), &update).ok());
  EXPECT_EQ(update.targets_size(), kRows);
  EXPECT_EQ(update.targets(kRows - 1).qualname(), "f49999");
  EXPECT_EQ(update.end().reason(), "duration over");
  EXPECT_FALSE(update.more());
}

TEST(Large, SummaryShowsTheMostDelayedOnly) {
  FakeControl daemon(InPieces());
  const ChildResult result = RunSbumpctl(Arguments(daemon, "table"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("49,801 more rows with less delay"));
}

}  // namespace
}  // namespace sbump::test
