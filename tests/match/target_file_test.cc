#include "daemon/match/target_file.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Texts(const TargetFileResult& result) {
  std::vector<std::string> texts;
  for (const Pattern& pattern : result.patterns) texts.push_back(pattern.text);
  return texts;
}

std::string Message(std::string_view text) {
  return std::string(TargetFileStatus(ParseTargetFile("t.txt", text)).message());
}

TEST(TargetFileTest, TheReferencesOwnExample) {
  const TargetFileResult result = ParseTargetFile("t.txt", R"(# Comments start with #
# Blank lines are ignored

# One pattern per line
*:ModelRunner.*
*/transformers/*:*Attention*

   # Whitespace is stripped
   *:some_function
)");
  EXPECT_TRUE(TargetFileStatus(result).ok());
  EXPECT_THAT(Texts(result),
              ElementsAre("*:ModelRunner.*", "*/transformers/*:*Attention*", "*:some_function"));
  EXPECT_THAT(result.lines, ElementsAre(5, 6, 9));
}

TEST(TargetFileTest, LineEndingsAndByteOrderMark) {
  const TargetFileResult result = ParseTargetFile("t",
                                                  "\xEF\xBB\xBF"
                                                  "a:b\r\n\r\nc:d\re:f\n\rg:h");
  EXPECT_THAT(Texts(result), ElementsAre("a:b", "c:d", "e:f", "g:h"));
  EXPECT_THAT(result.lines, ElementsAre(1, 3, 4, 6));
}

TEST(TargetFileTest, HashInsideALineIsACharacter) {
  EXPECT_THAT(Texts(ParseTargetFile("t", "*:f # not a comment")),
              ElementsAre("*:f # not a comment"));
}

TEST(TargetFileTest, EveryBadLineIsNamed) {
  const TargetFileResult result =
      ParseTargetFile("t.txt", "*:ok\n  foo \n:x\n*:f @dealy=1us\n*:ok2");
  EXPECT_EQ(result.errors.size(), 3u);
  const absl::Status status = TargetFileStatus(result);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("t.txt:2: \"foo\": no ':'"));
  EXPECT_THAT(message, HasSubstr("\nt.txt:3: \":x\": nothing before"));
  EXPECT_THAT(message, HasSubstr("\nt.txt:4: \"*:f @dealy=1us\": unknown override @dealy="));
}

TEST(TargetFileTest, AFileWithoutPatternsIsAnError) {
  for (std::string_view text : {"", "\n\n", "# only\n", "\xEF\xBB\xBF"}) {
    EXPECT_THAT(Message(text), HasSubstr("t.txt: no patterns in it"));
  }
}

TEST(TargetFileTest, BadBytesAreNamedByLine) {
  EXPECT_THAT(Message(std::string("a:b\nc:\0:", 8)),
              HasSubstr("t.txt:2: \"c:\\x00:\": holds a NUL"));
  EXPECT_THAT(Message("a:b\n\n# caf\xE9\n"), HasSubstr("t.txt:3: \"# caf\\xe9\": not UTF-8"));
  EXPECT_THAT(Message("a:\xED\xA0\x80"), HasSubstr("t.txt:1: \"a:\\xed\\xa0\\x80\": not UTF-8"));
  EXPECT_THAT(Message(std::string("\xFF\xFE"
                                  "a\0:\0b\0",
                                  8)),
              HasSubstr("UTF-16?"));
}

TEST(TargetFileTest, LongLinesAreErrorsAndShownCut) {
  const std::string message = Message("a:b\n" + std::string(kMaxPatternBytes + 1, 'x') + "\n");
  EXPECT_THAT(message, HasSubstr("t.txt:2: \"xxx"));
  EXPECT_THAT(message, HasSubstr("...\": a line of 65537 bytes"));
  EXPECT_LT(message.size(), 400u);
}

TEST(TargetFileTest, Limits) {
  EXPECT_THAT(Message(std::string(kMaxTargetFileBytes + 1, '\n')),
              HasSubstr("the most is 4194304"));
  std::string text;
  for (size_t i = 0; i < kMaxTargetPatterns; ++i) text += "*:f\n";
  EXPECT_EQ(ParseTargetFile("t", text).patterns.size(), kMaxTargetPatterns);
  EXPECT_EQ(Message(text), "");
  EXPECT_THAT(Message(text + "*:g"), HasSubstr("t.txt: more than 100000 patterns"));
}

}  // namespace
}  // namespace sbump
