#include "client/table_view.h"

#include "client/printable.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/samples.h"

namespace sbump {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SessionModel WithRows(int count) {
  SessionModel model;
  v1::SessionUpdate update = test::Active(1, 5);
  for (int i = 0; i < count; ++i) {
    *update.add_targets() = test::Stats("Some.rather_long_name_" + std::to_string(i), 3, 0);
  }
  update.add_warnings("a dose below the trap's own cost was raised to 600ns");
  model.Apply(update);
  return model;
}

TEST(FrameLines, ShowsWhatIsGoingOn) {
  SessionModel model;
  model.Apply(test::Active(0, 0));
  model.Apply(test::Active(2, 5'000));
  EXPECT_THAT(
      FrameLines(model, Palette(false), {100, 24}, "Ctrl-C leaves"),
      ElementsAre(
          "ACTIVE  pid 4242  python 3.11.7  armed: RESUME  session s-1: 1 target, delay 10us a "
          "call",
          "2.00s active; Ctrl-C leaves",
          "QUALNAME     WHERE           CALLS/S  CALLS  DELAYED  INJECTED  OVER P50  OVER P99",
          "Engine.step  /srv/app.py:12    2.50k  5,000    5,000    50.0ms     120ns    4.50us",
          "PATTERN        STATUS    TARGETS  CALLS  DELAYED  INJECTED",
          "*:engine.stop  NO MATCH        0      0        0         0",
          "    did you mean /srv/app.py:Engine.stop? (differs in case only)"));
}

TEST(FrameLines, ShowsProgressWhileAttaching) {
  SessionModel model;
  model.Apply(test::Attaching());
  EXPECT_THAT(FrameLines(model, Palette(false), {80, 24}, ""),
              Contains("walking 7,000 code objects"));
}

TEST(FrameLines, FitsEveryScreen) {
  const SessionModel model = WithRows(500);
  for (size_t columns = 1; columns < 140; columns += 7) {
    for (size_t rows = 4; rows < 60; rows += 5) {
      const auto lines = FrameLines(model, Palette(false), {columns, rows}, "Ctrl-C leaves");
      EXPECT_LT(lines.size(), rows);
      for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), columns) << line;
    }
  }
}

TEST(FrameLines, CountsWhatDoesNotFit) {
  EXPECT_THAT(FrameLines(WithRows(500), Palette(false), {120, 24}, ""),
              Contains(HasSubstr("... and 4")));
}

TEST(Frame, RedrawsOverTheLastFrame) {
  Frame frame;
  EXPECT_EQ(frame.Redraw({"a", "b"}), "\ra\x1b[K\r\nb\x1b[K\r\n\x1b[J");
  EXPECT_EQ(frame.Redraw({"c"}), "\r\x1b[2Ac\x1b[K\r\n\x1b[J");
  EXPECT_EQ(frame.Erase(), "\r\x1b[1A\x1b[J");
  EXPECT_EQ(frame.Redraw({"d"}), "\rd\x1b[K\r\n\x1b[J");
}

}  // namespace
}  // namespace sbump
