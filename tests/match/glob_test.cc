#include "daemon/match/glob.h"

#include <chrono>

#include "gtest/gtest.h"

namespace sbump {
namespace {

bool Match(std::string_view pattern, std::string_view text) {
  const absl::StatusOr<Glob> glob = Glob::Compile(pattern);
  EXPECT_TRUE(glob.ok()) << glob.status();
  return glob.ok() && glob->Matches(text);
}

TEST(GlobTest, StarTakesAnythingAndNothing) {
  EXPECT_TRUE(Match("*", ""));
  EXPECT_TRUE(Match("*", "a/b.c\nd"));
  EXPECT_TRUE(Match("*/numpy/*", "/usr/lib/numpy/core/x.py"));
  EXPECT_TRUE(Match("a*", "a"));
  EXPECT_TRUE(Match("**a**", "bab"));
  EXPECT_FALSE(Match("*a", "ab"));
}

TEST(GlobTest, WholeStringAndCaseCount) {
  EXPECT_TRUE(Match("foo", "foo"));
  EXPECT_FALSE(Match("foo", "foo "));
  EXPECT_FALSE(Match("foo", "xfoo"));
  EXPECT_FALSE(Match("foo", "Foo"));
  EXPECT_FALSE(Match("foo", "foo\n"));
  EXPECT_TRUE(Match("", ""));
  EXPECT_FALSE(Match("", "a"));
}

TEST(GlobTest, SpeedBumpsOwnExamples) {
  EXPECT_TRUE(Match("*/vllm/worker/model_runner.py", "/opt/vllm/worker/model_runner.py"));
  EXPECT_TRUE(Match("ModelRunner.*", "ModelRunner.__init__"));
  EXPECT_TRUE(Match("*attention*", "flash_attention_forward"));
  EXPECT_FALSE(Match("*attention*", "LlamaAttention.forward"));
  EXPECT_TRUE(Match("*outer.<locals>.inner", "A.outer.<locals>.inner"));
  EXPECT_TRUE(Match("test_*", "test_"));
}

TEST(GlobTest, NeighbouringPiecesDoNotOverlap) {
  EXPECT_FALSE(Match("aba*aba", "aba"));
  EXPECT_FALSE(Match("aba*aba", "ababa"));
  EXPECT_TRUE(Match("aba*aba", "abaaba"));
  EXPECT_FALSE(Match("*ab*bc", "abc"));
  EXPECT_TRUE(Match("*ab*ab*ab*", "xababxab"));
  EXPECT_FALSE(Match("*ab*ab*ab*", "xabab"));
  EXPECT_FALSE(Match("*ab*?", "ab"));
}

TEST(GlobTest, QuestionMarkTakesOneCodePoint) {
  EXPECT_TRUE(Match("?", "\u00e9"));
  EXPECT_TRUE(Match("?", "\U0001f40d"));
  EXPECT_TRUE(Match("?", "\n"));
  EXPECT_TRUE(Match("*??", "\U0001f40d\u4e2d"));
  EXPECT_FALSE(Match("*??", "\u4e2d"));
  EXPECT_FALSE(Match("?", ""));
}

TEST(GlobTest, LoneSurrogates) {
  const std::string low = "\xED\xB3\xBF";  // U+DCFF, as surrogateescape makes them
  EXPECT_TRUE(Match("caf?.py", "caf" + low + ".py"));
  EXPECT_TRUE(Match("[\xED\xA0\x80-\xED\xBF\xBF]", low));
  EXPECT_TRUE(Match(low, low));
  EXPECT_TRUE(Match("??", "\xED\xA0\xBD\xED\xB0\x8D"));  // a pair is two characters of a str
}

TEST(GlobTest, Brackets) {
  EXPECT_TRUE(Match("[abc]", "b"));
  EXPECT_FALSE(Match("[abc]", "d"));
  EXPECT_TRUE(Match("[!abc]", "d"));
  EXPECT_FALSE(Match("[!abc]", ""));
  EXPECT_TRUE(Match("[a-c]x", "bx"));
  EXPECT_TRUE(Match("[\u03b1-\u03c9]", "\u03b2"));
  EXPECT_TRUE(Match("[^a]", "^"));  // no negation
  EXPECT_TRUE(Match("[^a]", "a"));
  EXPECT_TRUE(Match("[\\]", "\\"));
  EXPECT_TRUE(Match("[\\-c]", "]"));  // a range from the backslash
  EXPECT_TRUE(Match("[[]x]", "[x]"));
}

TEST(GlobTest, ClosingBracketFirstIsACharacter) {
  EXPECT_TRUE(Match("[]]", "]"));
  EXPECT_TRUE(Match("[]a]", "a"));
  EXPECT_FALSE(Match("[!]]", "]"));
  EXPECT_TRUE(Match("[!]]", "a"));
}

TEST(GlobTest, UnclosedBracketIsACharacter) {
  EXPECT_TRUE(Match("[", "["));
  EXPECT_TRUE(Match("[]", "[]"));
  EXPECT_TRUE(Match("[!]", "[!]"));
  EXPECT_TRUE(Match("a[*", "a[bc"));
  EXPECT_TRUE(Match("[a-", "[a-"));
}

TEST(GlobTest, HyphensThatMakeNoRange) {
  for (std::string_view pattern : {"[-a]", "[a-]", "[!b-]", "[!-b]"}) {
    const bool negated = pattern[1] == '!';
    EXPECT_EQ(Match(pattern, "-"), !negated) << pattern;
    EXPECT_TRUE(Match(pattern, "a")) << pattern;
  }
  EXPECT_TRUE(Match("[a-c-e]", "-"));
  EXPECT_FALSE(Match("[a-c-e]", "d"));
  EXPECT_TRUE(Match("[+--]", ","));
}

TEST(GlobTest, EmptyRangesAreDropped) {
  EXPECT_FALSE(Match("[b-a]", "a"));
  EXPECT_FALSE(Match("[b-a]", "b"));
  EXPECT_FALSE(Match("[b-a]", "-"));
  EXPECT_FALSE(Match("[b-a]", ""));
  EXPECT_TRUE(Match("[!b-a]", "b"));
  EXPECT_FALSE(Match("[!b-a]", ""));
  EXPECT_TRUE(Match("[xb-ay]", "y"));
  EXPECT_TRUE(Match("[z-a!b]", "c"));  // what is left begins with ! and so negates
  EXPECT_FALSE(Match("[z-a!b]", "b"));
}

TEST(GlobTest, SetOperatorsAreCharacters) {
  EXPECT_TRUE(Match("[a&&b]", "&"));
  EXPECT_TRUE(Match("[a||b]", "b"));
  EXPECT_TRUE(Match("[a~~b]", "~"));
}

TEST(GlobTest, MalformedTextMatchesOnlyWildcards) {
  EXPECT_TRUE(Match("a?b",
                    "a\xFF"
                    "b"));
  EXPECT_TRUE(Match("*", "\xC3"));
  EXPECT_TRUE(Match("[!a]", "\xC3"));
  EXPECT_FALSE(Match("[a-\U0010ffff]", "\xC3"));
  EXPECT_FALSE(Match("\u00e9", "\xC3"));
  EXPECT_TRUE(Match("*\u00e9", "\xE4\xC3\xA9"));
}

TEST(GlobTest, MalformedPatternIsAnError) {
  EXPECT_EQ(Glob::Compile("a\xFF").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(GlobTest, SaysWhatKindItIs) {
  EXPECT_TRUE(Glob::Compile("a[")->IsLiteral());
  EXPECT_TRUE(Glob::Compile("")->IsLiteral());
  EXPECT_FALSE(Glob::Compile("a?")->IsLiteral());
  EXPECT_FALSE(Glob::Compile("[a]")->IsLiteral());
  EXPECT_TRUE(Glob::Compile("***")->MatchesEverything());
  EXPECT_FALSE(Glob::Compile("*?")->MatchesEverything());
  EXPECT_EQ(Glob::Compile("a*b")->pattern(), "a*b");
}

// Would take longer than the universe lasts with naive backtracking.
TEST(GlobTest, ManyStarsStayCheap) {
  std::string pattern, text(20'000, 'a');
  for (int i = 0; i < 200; ++i) pattern += "*a?[ab]";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(Match(pattern, text));
  EXPECT_FALSE(Match(pattern + "*b*", text));
  EXPECT_FALSE(Match("*" + std::string(10'000, 'a') + "b*", text));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace sbump
