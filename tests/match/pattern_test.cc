#include "daemon/match/pattern.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;

Pattern Parsed(std::string_view line) {
  absl::StatusOr<Pattern> pattern = ParsePattern(line);
  EXPECT_TRUE(pattern.ok()) << line << ": " << pattern.status();
  return pattern.ok() ? *std::move(pattern) : *ParsePattern("failed:failed");
}

std::string Why(std::string_view line) {
  const absl::Status status = ParsePattern(line).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line;
  return std::string(status.message());
}

TEST(PatternTest, FirstColonSeparates) {
  const Pattern pattern = Parsed("a:b:c");
  EXPECT_EQ(pattern.module.pattern(), "a");
  EXPECT_EQ(pattern.qualname.pattern(), "b:c");
  EXPECT_EQ(pattern.text, "a:b:c");
}

TEST(PatternTest, WhiteSpaceAroundSidesIsStripped) {
  const Pattern pattern = Parsed(" \t*/x y.py \u00a0:\u3000 A.b c \r");
  EXPECT_EQ(pattern.module.pattern(), "*/x y.py");
  EXPECT_EQ(pattern.qualname.pattern(), "A.b c");
  EXPECT_EQ(pattern.text, "*/x y.py:A.b c");
}

TEST(PatternTest, MissingPartsAreErrors) {
  EXPECT_THAT(Why("foo"), HasSubstr("no ':'"));
  EXPECT_THAT(Why(""), HasSubstr("no ':'"));
  EXPECT_THAT(Why(" :foo"), HasSubstr("nothing before"));
  EXPECT_THAT(Why("foo: "), HasSubstr("nothing after"));
  EXPECT_THAT(Why("foo: @delay=1us"), HasSubstr("nothing after"));
}

TEST(PatternTest, BadBytesAreErrors) {
  EXPECT_THAT(Why(std::string_view("a:\0b", 4)), HasSubstr("NUL"));
  EXPECT_THAT(Why("a:\xFF"), HasSubstr("not UTF-8"));
  EXPECT_THAT(Why("a:\xED\xA0\x80"), HasSubstr("not UTF-8"));
  EXPECT_THAT(Why("a:" + std::string(kMaxPatternBytes, 'b')), HasSubstr("too long"));
}

TEST(PatternTest, ModuleSideTakesPathOrDottedName) {
  const std::vector<std::string> names = {"__main__", "transformers.models.llama.modeling_llama"};
  const CodeName code{"/lib/transformers/models/llama/modeling_llama.py", names,
                      "LlamaAttention.forward"};
  const Pattern path = Parsed("*/llama/*:*.forward");
  const Pattern dotted = Parsed("transformers.models.llama.*:LlamaAttention.*");
  const Pattern main = Parsed("__main__:*");
  EXPECT_TRUE(path.Matches(code, false));
  EXPECT_TRUE(path.Matches(code, true));
  EXPECT_TRUE(dotted.Matches(code, false));
  EXPECT_FALSE(dotted.Matches(code, true));
  EXPECT_TRUE(main.Matches(code, false));
  EXPECT_FALSE(Parsed("*/llama/*:forward").Matches(code, false));
  EXPECT_FALSE(Parsed("gpt2:*").Matches(code, false));
  EXPECT_TRUE(Parsed("*:*").Matches(CodeName{"", {}, ""}, true));
}

TEST(PatternTest, OverridesFollowThePattern) {
  const Pattern pattern = Parsed("*:Engine.step  @delay=10us\t@every=3 ");
  EXPECT_EQ(pattern.qualname.pattern(), "Engine.step");
  EXPECT_EQ(pattern.delay_ns, 10'000u);
  EXPECT_EQ(pattern.every, 3u);
  EXPECT_EQ(pattern.text, "*:Engine.step @delay=10us @every=3");
  EXPECT_EQ(Parsed("*:f @every=4294967295").every, 4294967295u);
  EXPECT_EQ(Parsed("*:f @delay=0").delay_ns, 0u);
  EXPECT_EQ(Parsed("*:f\u00a0@delay=1s").delay_ns, 1'000'000'000u);
  EXPECT_FALSE(Parsed("*:f").delay_ns.has_value());
  EXPECT_FALSE(Parsed("*:f").every.has_value());
}

TEST(PatternTest, TextReadsBackAsAnEqualPattern) {
  for (std::string_view line :
       {" a : b ", "*:f @every=2 @delay=1500us", "*:a @b", "x:y @delay=0.0"}) {
    const Pattern once = Parsed(line);
    const Pattern twice = Parsed(once.text);
    EXPECT_EQ(once.text, twice.text);
    EXPECT_EQ(once.module.pattern(), twice.module.pattern());
    EXPECT_EQ(once.qualname.pattern(), twice.qualname.pattern());
    EXPECT_EQ(once.delay_ns, twice.delay_ns);
    EXPECT_EQ(once.every, twice.every);
  }
}

TEST(PatternTest, OtherAtSignsAreCharacters) {
  EXPECT_EQ(Parsed("*:a@delay=1us").qualname.pattern(), "a@delay=1us");
  EXPECT_EQ(Parsed("*:@delay=1us").qualname.pattern(), "@delay=1us");
  EXPECT_EQ(Parsed("*:a @b").qualname.pattern(), "a @b");
  EXPECT_EQ(Parsed("*:a @=b").qualname.pattern(), "a @=b");
  EXPECT_EQ(Parsed("*:a @ delay=b").qualname.pattern(), "a @ delay=b");
  EXPECT_EQ(Parsed("*:a [@]delay=1us").qualname.pattern(), "a [@]delay=1us");
  EXPECT_EQ(Parsed("x @delay=1us:a").module.pattern(), "x @delay=1us");
}

TEST(PatternTest, BadOverridesAreErrors) {
  EXPECT_THAT(Why("*:f @dealy=1us"),
              AllOf(HasSubstr("unknown override @dealy="), HasSubstr("@delay=10us, @every=3")));
  EXPECT_THAT(Why("*:f @delay=1"), AllOf(HasSubstr("@delay: "), HasSubstr("no unit")));
  EXPECT_THAT(Why("*:f @delay="), HasSubstr("empty"));
  EXPECT_THAT(Why("*:f @delay=1us @delay=2us"), HasSubstr("twice"));
  EXPECT_THAT(Why("*:f @every=1 @every=1"), HasSubstr("twice"));
  EXPECT_THAT(Why("*:f @delay=1us g"), HasSubstr("only overrides may follow"));
  EXPECT_THAT(Why("*:f @delay=10 us"), HasSubstr("no unit"));
  for (std::string_view bad : {"0", "-1", "+1", "1.5", "x", "", "4294967296"}) {
    EXPECT_THAT(Why("*:f @every=" + std::string(bad)), HasSubstr("from 1 to 4294967295"));
  }
}

TEST(PatternTest, ExcludesTakeNoOverrides) {
  EXPECT_TRUE(ParseExclude("*:f").ok());
  EXPECT_EQ(ParseExclude("*:f @every=2").status().message(),
            "an exclude pattern takes no overrides");
  EXPECT_FALSE(ParseExclude("f").ok());
}

}  // namespace
}  // namespace sbump
