#include "daemon/match/native_pattern.h"

#include <gtest/gtest.h>

#include <string>

#include "daemon/match/pattern.h"

namespace sbump {
namespace {

NativePattern Parse(const std::string& text) {
  auto pattern = ParseNativePattern(text);
  EXPECT_TRUE(pattern.ok()) << text << ": " << pattern.status();
  return *std::move(pattern);
}

void ExpectBad(const std::string& text, const std::string& words) {
  const absl::Status status = ParseNativePattern(text).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
  EXPECT_NE(std::string(status.message()).find(words), std::string::npos) << status;
}

TEST(NativePatternTest, ASymbolOfAFile) {
  const NativePattern pattern = Parse("  /usr/lib/libssl.so.3 : SSL_write ");
  EXPECT_EQ(pattern.text, "/usr/lib/libssl.so.3:SSL_write");
  EXPECT_EQ(pattern.symbol, "SSL_write");
  EXPECT_EQ(pattern.What(), "SSL_write");
  EXPECT_FALSE(pattern.name.has_value());
  EXPECT_FALSE(pattern.file_offset.has_value());
}

TEST(NativePatternTest, AVersionIsSplitOff) {
  for (const char* text : {"libc.so.6:write@GLIBC_2.2.5", "libc.so.6:write@@GLIBC_2.2.5"}) {
    const NativePattern pattern = Parse(text);
    EXPECT_EQ(pattern.symbol, "write");
    EXPECT_EQ(pattern.version, "GLIBC_2.2.5");
    EXPECT_EQ(pattern.What(), "write@GLIBC_2.2.5");
  }
  EXPECT_EQ(Parse("x:odd@").symbol, "odd@");
}

TEST(NativePatternTest, OverridesAreNotVersions) {
  const NativePattern pattern = Parse("libc.so.6:write@@GLIBC_2.2.5  @delay=5us @every=3");
  EXPECT_EQ(pattern.version, "GLIBC_2.2.5");
  EXPECT_EQ(pattern.overrides.delay_ns, 5000u);
  EXPECT_EQ(pattern.overrides.every, 3u);
  EXPECT_EQ(pattern.text, "libc.so.6:write@GLIBC_2.2.5 @delay=5us @every=3");
}

TEST(NativePatternTest, CPlusPlusNamesAreGlobs) {
  const NativePattern pattern = Parse("libfoo.so:ns::Class::method(*)");
  EXPECT_EQ(pattern.symbol, "ns::Class::method(*)");
  ASSERT_TRUE(pattern.name.has_value());
  EXPECT_TRUE(pattern.name->Matches("ns::Class::method(int)"));
  EXPECT_FALSE(pattern.name->Matches("ns::Class::method(int) const"));
  EXPECT_TRUE(Parse("libfoo.so:f(int)").name.has_value());
  EXPECT_TRUE(Parse("libfoo.so:SSL_*").name.has_value());
  EXPECT_FALSE(Parse("libfoo.so:_ZN2ns1fEv").name.has_value());
}

TEST(NativePatternTest, AnOffsetInAFile) {
  const NativePattern pattern = Parse("libfoo.so+0x00Ab @every=2");
  EXPECT_EQ(pattern.file_offset, 0xabu);
  EXPECT_EQ(pattern.What(), "+0xab");
  EXPECT_EQ(pattern.text, "libfoo.so+0xab @every=2");
  EXPECT_EQ(Parse("/opt/a+0x1/lib.so+0x2").file_offset, 2u);
}

TEST(NativePatternTest, TheTextIsParsedToItself) {
  for (const char* text : {"libc.so.6:write", "*/x.so:a::b(*) @delay=1ms", "x+0x10 @every=7",
                           "libc.so.6:memcpy@GLIBC_2.14"}) {
    EXPECT_EQ(Parse(text).text, text);
    EXPECT_EQ(Parse(Parse(text).text).text, text);
  }
}

TEST(NativePatternTest, ANameOrAPathOrAGlob) {
  const NativePattern by_name = Parse("libc.so.6:write");
  EXPECT_TRUE(by_name.MatchesPath("/usr/lib/x86_64-linux-gnu/libc.so.6"));
  EXPECT_FALSE(by_name.MatchesPath("/usr/lib/xlibc.so.6"));
  EXPECT_FALSE(by_name.NamesOnePath());
  const NativePattern by_path = Parse("/usr/lib/libc.so.6:write");
  EXPECT_TRUE(by_path.MatchesPath("/usr/lib/libc.so.6"));
  EXPECT_FALSE(by_path.MatchesPath("/opt/usr/lib/libc.so.6"));
  EXPECT_TRUE(by_path.NamesOnePath());
  const NativePattern by_glob = Parse("*/libc.so*:write");
  EXPECT_TRUE(by_glob.MatchesPath("/usr/lib/libc.so.6"));
  EXPECT_FALSE(by_glob.NamesOnePath());
  EXPECT_TRUE(Parse("libc*:write").MatchesPath("/x/libcrypto.so"));
}

TEST(NativePatternTest, NamesOfSymbolsMayHaveWhiteSpace) {
  EXPECT_EQ(Parse("app:type:.eq.struct { a int32 }").text, "app:type:.eq.struct { a int32 }");
}

TEST(NativePatternTest, WhatIsWrongIsSaid) {
  ExpectBad("libc.so.6", "no ':'");
  ExpectBad("", "no ':'");
  ExpectBad(":write", "no file");
  ExpectBad("+0x10", "no file");
  ExpectBad("libc.so.6:", "nothing after the ':'");
  ExpectBad("libc.so.6:write+0x10", "PATH+0xOFFSET");
  ExpectBad("libc.so.6+0x", "no hexadecimal number");
  ExpectBad("libc.so.6+0x12g", "no hexadecimal number");
  ExpectBad("libc.so.6+0x11112222333344445", "no hexadecimal number");
  ExpectBad("libc.so.6:write @dealy=3us", "@dealy=");
  ExpectBad("libc.so.6:write @@delay=3us", "white space and an @ in the symbol");
  ExpectBad("libc.so.6:wri\xff", "UTF-8");
  ExpectBad(std::string("libc.so.6:wri\0te", 16), "NUL");
  ExpectBad("a:" + std::string(kMaxPatternBytes, 'x'), "too long");
}

}  // namespace
}  // namespace sbump
