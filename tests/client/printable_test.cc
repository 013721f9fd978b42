#include "client/printable.h"

#include "gtest/gtest.h"

namespace sbump {
namespace {

TEST(Printable, LeavesTextAlone) {
  EXPECT_EQ(Printable("Class.method <locals> h\u00e9 \u65e5\u672c"),
            "Class.method <locals> h\u00e9 \u65e5\u672c");
}

TEST(Printable, EscapesWhatCouldMoveTheCursorOrTheEye) {
  EXPECT_EQ(Printable("a\x1b[2Jb\nc\td\re"), "a\\x1b[2Jb\\nc\\td\\re");
  EXPECT_EQ(Printable("\u009b31m"), "\\x9b31m") << "a C1 control sequence";
  EXPECT_EQ(Printable("\u202etxt"), "\\u202etxt");
  EXPECT_EQ(Printable("\U000e0001"), "\\U000e0001");
  EXPECT_EQ(Printable(std::string("\0\x7f", 2)), "\\x00\\x7f");
}

TEST(Printable, EscapesMalformedBytesAndSurrogates) {
  EXPECT_EQ(Printable("\xff"), "\\xff");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\ud800");
}

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("h\u00e9"), 2u);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1u) << "a combining accent";
  EXPECT_EQ(DisplayWidth("\u65e5\u672c"), 4u);
}

TEST(ClipTo, CutsEitherEnd) {
  EXPECT_EQ(ClipTo("abcdef", 6, Clip::kTail), "abcdef");
  EXPECT_EQ(ClipTo("abcdef", 4, Clip::kTail), "abc\u2026");
  EXPECT_EQ(ClipTo("abcdef", 4, Clip::kHead), "\u2026def");
  EXPECT_EQ(ClipTo("abcdef", 1, Clip::kTail), "\u2026");
  EXPECT_EQ(ClipTo("abcdef", 0, Clip::kTail), "");
  EXPECT_EQ(ClipTo("abcdef", 2, Clip::kNever), "abcdef");
  EXPECT_EQ(ClipTo("\u65e5\u672c\u8a9e", 4, Clip::kTail), "\u65e5\u2026");
}

}  // namespace
}  // namespace sbump
