#include "daemon/cpython/unicode.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/fakes/fake_python.h"

namespace sbump {
namespace {

// Every version: the places of the text differ.
class UnicodeTest : public testing::TestWithParam<int> {
 protected:
  FakePython python{GetParam()};

  absl::StatusOr<std::string> Read(RemoteAddr str) {
    return ReadUnicode(python.memory(), python.layout(), str);
  }
  absl::StatusOr<std::string> Read(std::u32string_view text) { return Read(python.NewStr(text)); }
  void SetLength(RemoteAddr str, int64_t length) {
    python.memory().Put(str + kUnicodeLength, length);
  }
  void SetState(RemoteAddr str, uint32_t state) { python.memory().Put(str + kUnicodeState, state); }
};
INSTANTIATE_TEST_SUITE_P(Versions, UnicodeTest, testing::ValuesIn(kFakeMinors));

TEST_P(UnicodeTest, EachKindAtItsWidestCharacter) {
  EXPECT_EQ(*Read(U""), "");
  EXPECT_EQ(*Read(U"Engine.step\x7f"), "Engine.step\x7f");
  EXPECT_EQ(*Read(U"na\u00efve \u00ff"), "na\xC3\xAFve \xC3\xBF");
  EXPECT_EQ(*Read(U"\u0100 \u07ff \u0800 \uffff"), "\xC4\x80 \xDF\xBF \xE0\xA0\x80 \xEF\xBF\xBF");
  EXPECT_EQ(*Read(U"\U00010000\U0010ffff"), "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
}

TEST_P(UnicodeTest, LongTextsNeedASecondRead) {
  const std::u32string text(1000, U'\u20ac');
  std::string expected;
  for (int i = 0; i < 1000; ++i) expected += "\xE2\x82\xAC";
  EXPECT_EQ(*Read(text), expected);
  const std::u32string longest(kMaxUnicodeLength, U'x');
  EXPECT_EQ(Read(longest)->size(), kMaxUnicodeLength);
}

TEST_P(UnicodeTest, LoneSurrogatesAsSurrogatepassWritesThem) {
  const char32_t points[] = {U'a', 0xD800, 0xDFFF, U'b'};
  EXPECT_EQ(*Read(std::u32string_view(points, 4)),
            "a\xED\xA0\x80\xED\xBF\xBF"
            "b");
}

TEST_P(UnicodeTest, ACharacterAboveUnicodeIsAnError) {
  const char32_t points[] = {0x110000};
  EXPECT_TRUE(absl::IsDataLoss(Read(std::u32string_view(points, 1)).status()));
}

TEST_P(UnicodeTest, AShortStrAtTheEndOfItsMapping) {
  const RemoteAddr page{0x3000'0000};
  const RemoteAddr str = page + (4096 - python.layout().unicode.ascii_data - 8);
  python.memory().Put(str + kUnicodeLength, int64_t{3});
  SetState(str, 1u << 2 | 1u << 5 | 1u << 6);
  python.memory().PutBytes(str + python.layout().unicode.ascii_data,
                           std::as_bytes(std::span("abc", 3)));
  EXPECT_EQ(*Read(str), "abc");
}

TEST_P(UnicodeTest, TextBehindTheEndOfItsMappingIsNotZeros) {
  const RemoteAddr page{0x3000'0000};
  const RemoteAddr str = page + (4096 - python.layout().unicode.ascii_data - 8);
  python.memory().Put(str + kUnicodeLength, int64_t{9});
  SetState(str, 1u << 2 | 1u << 5 | 1u << 6);
  EXPECT_FALSE(Read(str).ok());
}

TEST_P(UnicodeTest, HostileLengths) {
  const RemoteAddr str = python.NewStr("name");
  for (const int64_t length : {int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    SetLength(str, length);
    EXPECT_TRUE(absl::IsDataLoss(Read(str).status())) << length;
  }
  for (const int64_t length : {int64_t{kMaxUnicodeLength} + 1, int64_t{1} << 32, int64_t{1} << 62,
                               std::numeric_limits<int64_t>::max()}) {
    SetLength(str, length);
    EXPECT_TRUE(absl::IsResourceExhausted(Read(str).status())) << length;
  }
}

TEST_P(UnicodeTest, ALengthIsNeverCutShort) {
  const RemoteAddr str = python.NewStr("name");
  SetLength(str, kMaxUnicodeLength);
  EXPECT_FALSE(Read(str).ok()) << "the text ends before its length does";
}

TEST_P(UnicodeTest, WhatIsNoCompactStr) {
  const RemoteAddr str = python.NewStr("name");
  constexpr uint32_t kCompact = 1u << 5, kAscii = 1u << 6;
  for (const uint32_t kind : {0u, 3u, 5u, 6u, 7u}) {
    SetState(str, kind << 2 | kCompact);
    EXPECT_TRUE(absl::IsDataLoss(Read(str).status())) << kind;
  }
  SetState(str, 1u << 2 | kAscii);
  EXPECT_TRUE(absl::IsDataLoss(Read(str).status())) << "not compact";
  SetState(str, 2u << 2 | kCompact | kAscii);
  EXPECT_TRUE(absl::IsDataLoss(Read(str).status())) << "wide ASCII";
  EXPECT_TRUE(absl::IsDataLoss(Read(python.Allocate(64)).status())) << "zeros";
}

TEST_P(UnicodeTest, AddressesThatAreNoPointer) {
  for (const uint64_t addr : {uint64_t{0}, uint64_t{8}, uint64_t{4095}, uint64_t{1} << 47,
                              std::numeric_limits<uint64_t>::max()}) {
    EXPECT_TRUE(absl::IsDataLoss(Read(RemoteAddr{addr}).status())) << addr;
  }
  EXPECT_EQ(python.memory().reads(), FakePython(GetParam()).memory().reads()) << "none is followed";
}

}  // namespace
}  // namespace sbump
