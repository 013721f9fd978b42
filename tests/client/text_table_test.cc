#include "client/text_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;

TextTable Sample() {
  TextTable table({{"NAME", false, Clip::kTail}, {"N", true}, {"WHERE", false, Clip::kHead}});
  table.AddRow({{"abcdefghijkl"}, {"7", Tone::kBad}, {"/usr/lib/x.py"}});
  table.AddRow({{"b"}, {"1,234"}, {""}});
  return table;
}

TEST(TextTable, AlignsColumnsWithoutTrailingSpaces) {
  EXPECT_THAT(Sample().Lines(Palette(false)),
              ElementsAre("NAME              N  WHERE",  //
                          "abcdefghijkl      7  /usr/lib/x.py", "b             1,234"));
}

TEST(TextTable, ColumnsThatClipGiveWay) {
  EXPECT_THAT(Sample().Lines(Palette(false), 28),
              ElementsAre("NAME           N  WHERE",  //
                          "abcdefgh\u2026      7  \u2026/lib/x.py", "b          1,234"));
}

TEST(TextTable, NoLineIsWiderThanTheScreen) {
  for (size_t width = 1; width < 40; ++width) {
    for (const std::string& line : Sample().Lines(Palette(false), width)) {
      EXPECT_LE(DisplayWidth(line), width);
    }
  }
}

TEST(TextTable, ColoursDoNotMoveColumns) {
  const auto lines = Sample().Lines(Palette(true));
  EXPECT_EQ(lines[1], "abcdefghijkl      \x1b[31m7\x1b[0m  /usr/lib/x.py");
}

}  // namespace
}  // namespace sbump
