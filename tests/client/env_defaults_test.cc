#include "client/env_defaults.h"

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

TEST(EnvDefaults, AbsentAndEmptyVariablesAreAbsent) {
  const auto defaults = ReadEnvDefaults(With({{"SPEED_BUMP_DELAY_NS", ""}}));
  ASSERT_TRUE(defaults.ok());
  EXPECT_FALSE(defaults->targets_file);
  EXPECT_FALSE(defaults->delay_ns);
  EXPECT_FALSE(defaults->every);
}

TEST(EnvDefaults, ReadsSpeedBumpsUnits) {
  const auto defaults = ReadEnvDefaults(With({{"SPEED_BUMP_TARGETS", "/t.txt"},
                                              {"SPEED_BUMP_DELAY_NS", "1500"},
                                              {"SPEED_BUMP_FREQUENCY", "3"},
                                              {"SPEED_BUMP_START_MS", "250"},
                                              {"SPEED_BUMP_DURATION_MS", "0"}}));
  ASSERT_TRUE(defaults.ok()) << defaults.status();
  EXPECT_EQ(defaults->targets_file, "/t.txt");
  EXPECT_EQ(defaults->delay_ns, 1'500u);
  EXPECT_EQ(defaults->every, 3u);
  EXPECT_EQ(defaults->start_ns, 250'000'000u);
  EXPECT_EQ(defaults->duration_ns, 0u);
}

TEST(EnvDefaults, BadValueNamesItsVariable) {
  for (const char* value :
       {"10us", "-1", "1.5", " 1", "1 ", "0x10", "10000000001", "18446744073709551616"}) {
    const auto defaults = ReadEnvDefaults(With({{"SPEED_BUMP_DELAY_NS", value}}));
    ASSERT_FALSE(defaults.ok()) << value;
    EXPECT_NE(defaults.status().message().find("SPEED_BUMP_DELAY_NS="), absl::string_view::npos);
  }
  EXPECT_FALSE(ReadEnvDefaults(With({{"SPEED_BUMP_FREQUENCY", "0"}})).ok());
  EXPECT_FALSE(ReadEnvDefaults(With({{"SPEED_BUMP_FREQUENCY", "4294967296"}})).ok());
  EXPECT_FALSE(ReadEnvDefaults(With({{"SPEED_BUMP_START_MS", "18446744073710"}})).ok())
      << "too many for nanoseconds";
}

}  // namespace
}  // namespace sbump
