#include "client/terminal.h"

#include <map>
#include <string>

#include "gtest/gtest.h"

namespace sbump {
namespace {

Environment With(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

TEST(WantsColor, FollowsTheConventions) {
  EXPECT_TRUE(WantsColor(true, With({})));
  EXPECT_FALSE(WantsColor(false, With({})));
  EXPECT_FALSE(WantsColor(true, With({{"NO_COLOR", "1"}})));
  EXPECT_TRUE(WantsColor(true, With({{"NO_COLOR", ""}}))) << "empty counts as unset";
  EXPECT_FALSE(WantsColor(true, With({{"CLICOLOR", "0"}})));
  EXPECT_TRUE(WantsColor(false, With({{"CLICOLOR_FORCE", "1"}})));
  EXPECT_FALSE(WantsColor(false, With({{"CLICOLOR_FORCE", "0"}})));
  EXPECT_FALSE(WantsColor(true, With({{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}})));
  EXPECT_FALSE(WantsColor(true, With({{"TERM", "dumb"}})));
}

TEST(CanRedraw, NeedsATerminalThatKnowsCodes) {
  EXPECT_TRUE(CanRedraw(true, With({{"TERM", "xterm"}})));
  EXPECT_FALSE(CanRedraw(true, With({{"TERM", "dumb"}})));
  EXPECT_FALSE(CanRedraw(false, With({{"TERM", "xterm"}})));
}

TEST(Palette, PaintsOnlyWhenEnabled) {
  EXPECT_EQ(Palette(true).Paint(Tone::kBad, "x"), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(Palette(true).Paint(Tone::kPlain, "x"), "x");
  EXPECT_EQ(Palette(false).Paint(Tone::kBad, "x"), "x");
}

}  // namespace
}  // namespace sbump
