#include "daemon/base/utf8.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace sbump {
namespace {

TEST(Utf8Test, ReadsEachLength) {
  const std::string text = "a\u00e9\u4e2d\U0001f40d";
  EXPECT_EQ(DecodeAll(text), U"a\u00e9\u4e2d\U0001f40d");
  EXPECT_EQ(DecodeAt(text, 6).value, U'\U0001f40d');
  EXPECT_EQ(DecodeAt(text, 6).bytes, 4u);
}

TEST(Utf8Test, LoneSurrogatesAreCodePointsButNotStrictUtf8) {
  const std::string low = "\xED\xB3\xBF";
  EXPECT_EQ(DecodeAt(low, 0).value, 0xDCFFu);
  EXPECT_TRUE(DecodeAll(low).has_value());
  EXPECT_FALSE(IsStrictUtf8(low));
}

TEST(Utf8Test, MalformedBytesStandForThemselvesAlone) {
  for (std::string text :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE4\xB8", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC3(", "\xE4\xB8("}) {
    EXPECT_FALSE(DecodeAll(text).has_value());
    EXPECT_FALSE(IsStrictUtf8(text));
    const CodePoint first = DecodeAt(text, 0);
    EXPECT_EQ(first.value, kInvalidByte + static_cast<unsigned char>(text[0]));
    EXPECT_EQ(first.bytes, 1u);
  }
}

TEST(Utf8Test, GoingBackFindsTheStartsThatGoingForwardFound) {
  const std::string text = "a\xE4\xB8\xAD\xB8\xAD\xC3\xC3\xA9\xF0\x9F\x90\x8D\x8D\xED\xA0\x80z";
  std::vector<size_t> forward, backward;
  for (size_t pos = 0; pos < text.size(); pos += DecodeAt(text, pos).bytes) forward.push_back(pos);
  for (size_t pos = text.size(); pos > 0;) {
    pos = PreviousStart(text, pos);
    backward.insert(backward.begin(), pos);
  }
  EXPECT_EQ(forward, backward);
}

TEST(Utf8Test, WritesWhatItReads) {
  for (char32_t value : {0x0, 0x7F, 0x80, 0x7FF, 0x800, 0xD800, 0xFFFF, 0x10000, 0x10FFFF}) {
    std::string text;
    AppendCodePoint(value, &text);
    EXPECT_EQ(DecodeAt(text, 0).value, value);
    EXPECT_EQ(DecodeAt(text, 0).bytes, text.size());
  }
}

TEST(Utf8Test, StripsPythonsWhiteSpaceAndNoOther) {
  EXPECT_EQ(StripPythonSpace(" \t\r\n\v\f\x1c\x1f\u0085\u00a0\u2003\u3000x y\u2029 "), "x y");
  EXPECT_EQ(StripPythonSpace("\u200bx\ufeff"), "\u200bx\ufeff");
  EXPECT_EQ(StripPythonSpace(" \u00a0 "), "");
  EXPECT_EQ(StripPythonSpace("\xA0x\x85"), "\xA0x\x85");  // malformed bytes are not spaces
}

}  // namespace
}  // namespace sbump
