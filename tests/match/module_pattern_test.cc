#include "daemon/match/module_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbump {
namespace {

using testing::HasSubstr;

const std::vector<std::string>& LinearTypes() {
  static const auto& types = *new std::vector<std::string>{
      "torch.nn.modules.linear.Linear", "torch.nn.modules.module.Module", "object"};
  return types;
}

bool Takes(std::string_view pattern, std::string_view path) {
  return ModulePattern::Compile(pattern)->Matches(path, LinearTypes());
}

std::string WhyNot(std::string_view pattern) {
  return std::string(ModulePattern::Compile(pattern).status().message());
}

TEST(ModulePatternTest, AGlobTakesTheWholePathDotsIncluded) {
  EXPECT_TRUE(Takes("top.layers.*.attn", "top.layers.3.attn"));
  EXPECT_TRUE(Takes("top.*.q_proj", "top.layers.3.attn.q_proj"));
  EXPECT_FALSE(Takes("top.layers.*.attn", "top.layers.3.attn.q_proj"));
  EXPECT_FALSE(Takes("layers.*", "top.layers.3"));
  EXPECT_TRUE(Takes("*", ""));
}

TEST(ModulePatternTest, AnExpressionIsAnchoredAtTheBeginAlone) {
  EXPECT_TRUE(Takes("re:top", "top.layers.3"));
  EXPECT_FALSE(Takes("re:layers", "top.layers.3"));
  EXPECT_TRUE(Takes("re:.*layers", "top.layers.3"));
  EXPECT_TRUE(Takes(R"(re:top\.layers\.\d+$)", "top.layers.31"));
  EXPECT_FALSE(Takes(R"(re:top\.layers\.\d$)", "top.layers.31"));
  // Each branch, as in Python.
  EXPECT_TRUE(Takes("re:a|top", "top"));
  EXPECT_FALSE(Takes("re:a|op", "top"));
}

TEST(ModulePatternTest, ATypeIsTheClassOrOneThatItIsDerivedFrom) {
  EXPECT_TRUE(Takes("type:Linear", "x"));
  EXPECT_TRUE(Takes("type:torch.nn.modules.linear.Linear", "x"));
  EXPECT_TRUE(Takes("type:Module", "x"));
  EXPECT_TRUE(Takes("type:Lin*", "x"));
  EXPECT_FALSE(Takes("type:linear", "x"));
  EXPECT_FALSE(Takes("type:Conv2d", "Linear"));
}

TEST(ModulePatternTest, ATypesGlobTakesItsModuleToo) {
  EXPECT_TRUE(Takes("type:torch.nn.*", "x"));
  EXPECT_TRUE(Takes("type:torch.*.Linear", "x"));
  EXPECT_FALSE(Takes("type:nn.*", "x")) << "the whole name, or what is behind its last dot";
  EXPECT_FALSE(Takes("type:linear.Linear", "x"));
  EXPECT_TRUE(Takes("type:object", "x"));
  EXPECT_FALSE(ModulePattern::Compile("type:Linear")->Matches("Linear", {}));
}

TEST(ModulePatternTest, TheModelItselfCanHaveAnEmptyPath) {
  EXPECT_TRUE(Takes("re:", ""));
  EXPECT_TRUE(Takes("re:$", ""));
  EXPECT_FALSE(Takes("re:.", ""));
  EXPECT_FALSE(Takes("top", ""));
}

TEST(ModulePatternTest, SetsAndSingleCharacters) {
  EXPECT_TRUE(Takes("top.layers.[0-3]", "top.layers.2"));
  EXPECT_FALSE(Takes("top.layers.[0-3]", "top.layers.12"));
  EXPECT_TRUE(Takes("top.layers.?", "top.layers.2"));
  EXPECT_FALSE(Takes("Top.layers.?", "top.layers.2"));
}

TEST(ModulePatternTest, CopiesAreEqualToTheFirst) {
  for (const char* text : {"top.*", "re:top", "type:Linear"}) {
    const ModulePattern first = *ModulePattern::Compile(text);
    const ModulePattern copy = first;
    EXPECT_EQ(copy.text(), text);
    EXPECT_TRUE(copy.Matches("top.a", LinearTypes())) << text;
  }
}

TEST(ModulePatternTest, MistakesAreNamed) {
  EXPECT_THAT(WhyNot(""), HasSubstr("empty"));
  EXPECT_THAT(WhyNot("type:"), HasSubstr("type is missing"));
  EXPECT_THAT(WhyNot("re:("), HasSubstr("no regular expression: missing )"));
  EXPECT_THAT(WhyNot("re:(?=a)"), HasSubstr("no regular expression"));
  EXPECT_THAT(WhyNot(std::string(ModulePattern::kLongestText + 1, 'a')), HasSubstr("4096"));
  EXPECT_EQ(WhyNot(std::string(ModulePattern::kLongestText, 'a')), "");
}

TEST(ModuleTargetTest, OverridesStandBehindThePattern) {
  const ModuleTarget target = *ParseModuleTarget("  re:top\\.a @delay=10us @every=3 ");
  EXPECT_EQ(target.pattern.text(), "re:top\\.a");
  EXPECT_EQ(target.overrides.delay_ns, 10'000u);
  EXPECT_EQ(target.overrides.every, 3u);
  EXPECT_EQ(target.text, "re:top\\.a @delay=10us @every=3");
  EXPECT_EQ(ParseModuleTarget(target.text)->text, target.text);
  EXPECT_FALSE(ParseModuleTarget("top @dose=1").ok());
  EXPECT_FALSE(ParseModuleTarget(" @delay=1us").ok());
}

}  // namespace
}  // namespace sbump
