#include "client/target_selection.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TargetSelection : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) {
    const std::string path = ::testing::TempDir() + "/targets.txt";
    std::ofstream(path) << text;
    return path;
  }

  std::string Mistakes(const SelectionFlags& flags) {
    const auto selection = BuildSelection(flags);
    EXPECT_FALSE(selection.ok());
    return selection.ok() ? "" : std::string(selection.status().message());
  }
};

TEST_F(TargetSelection, FlagsComeBeforeTheFile) {
  const SelectionFlags flags = {
      Write("# a comment\n\n a.b:f \r\n*:g @every=2\n"), {"*:h @delay=3us"}, {"x:*"}, true};
  const auto selection = BuildSelection(flags);
  ASSERT_TRUE(selection.ok()) << selection.status();
  ASSERT_EQ(selection->patterns_size(), 3);
  EXPECT_EQ(selection->patterns(0).delay_ns(), 3'000u);
  EXPECT_EQ(selection->patterns(1).pattern(), "a.b:f");
  EXPECT_EQ(selection->patterns(2).every(), 2u);
  EXPECT_EQ(selection->exclude(0), "x:*");
  EXPECT_TRUE(selection->paths_only());
}

TEST_F(TargetSelection, TellsEveryMistakeAtOnce) {
  const std::string file = Write("bad\nx:y\n:z\n*:q @delay=11ms\n");
  const std::string text = Mistakes({.targets_file = file,
                                     .targets = {"nope"},
                                     .excludes = {"no"},
                                     .longest_delay_ns = kLongestSpinNs});
  EXPECT_THAT(text, HasSubstr("--target \"nope\": "));
  EXPECT_THAT(text, HasSubstr(file + ":1: \"bad\": "));
  EXPECT_THAT(text, HasSubstr(file + ":3: \":z\": "));
  EXPECT_THAT(text, HasSubstr(file + ":4: "));
  EXPECT_THAT(text, HasSubstr("the longest delay is 10ms"));
  EXPECT_THAT(text, HasSubstr("--exclude \"no\": "));
}

TEST_F(TargetSelection, ModulesAndThoseThatAreSubtracted) {
  SelectionFlags flags;
  flags.modules = {"top.*"};
  flags.module_excludes = {"type:Dropout", "re:top\\.a"};
  const auto selection = BuildSelection(flags);
  ASSERT_TRUE(selection.ok()) << selection.status();
  ASSERT_EQ(selection->module_exclude_size(), 2);
  EXPECT_EQ(selection->module_exclude(1), "re:top\\.a");
  flags.module_excludes = {"re:("};
  EXPECT_THAT(Mistakes(flags), HasSubstr("--module-exclude \"re:(\": "));
  flags = {.natives = {"libc.so.6:write"}, .module_excludes = {"top"}};
  EXPECT_THAT(Mistakes(flags), HasSubstr("there is none"));
}

TEST_F(TargetSelection, CallablesThatAreModules) {
  SelectionFlags flags;
  flags.modules = {"callable:*"};
  EXPECT_EQ(BuildSelection(flags)->module_callables_size(), 0);
  EXPECT_FALSE(BuildSelection(flags)->no_default_module_callables());
  flags.callables = {.types = {"app.Wrapper"}, .no_defaults = true};
  EXPECT_EQ(BuildSelection(flags)->module_callables(0), "app.Wrapper");
  EXPECT_TRUE(BuildSelection(flags)->no_default_module_callables());
  flags.modules.clear();
  EXPECT_THAT(Mistakes(flags), HasSubstr("--callable is about --module"));
}

TEST_F(TargetSelection, NativeTargetsBesideOrAlone) {
  SelectionFlags flags;
  flags.natives = {"libc.so.6:write @delay=3us", " libx.so+0x0A @every=2"};
  EXPECT_TRUE(flags.HasTargets());
  EXPECT_FALSE(flags.HasPatterns());
  const auto selection = BuildSelection(flags);
  ASSERT_TRUE(selection.ok()) << selection.status();
  EXPECT_EQ(selection->patterns_size(), 0);
  ASSERT_EQ(selection->native_size(), 2);
  EXPECT_EQ(selection->native(0).target(), "libc.so.6:write @delay=3us");
  EXPECT_EQ(selection->native(0).delay_ns(), 3'000u);
  EXPECT_EQ(selection->native(1).target(), "libx.so+0xa @every=2");
  EXPECT_EQ(selection->native(1).every(), 2u);
  flags.natives = {"write", "libc.so.6:write @delay=11ms"};
  EXPECT_THAT(Mistakes(flags), HasSubstr("--native \"write\": no ':'"));
  EXPECT_THAT(Mistakes(flags),
              Not(HasSubstr("the longest delay")));  // it may be a session that sleeps
  flags.longest_delay_ns = kLongestSpinNs;
  EXPECT_THAT(Mistakes(flags), HasSubstr("the longest delay is 10ms"));
}

TEST_F(TargetSelection, EmptyFileIsAMistake) {
  EXPECT_THAT(Mistakes({Write("# nothing\n"), {}, {}, false}), HasSubstr("no patterns"));
}

TEST_F(TargetSelection, FileThatCannotBeReadIsNamed) {
  EXPECT_THAT(Mistakes({"/nowhere/x", {}, {}, false}), HasSubstr("/nowhere/x: No such file"));
  EXPECT_THAT(Mistakes({"/dev/null", {}, {}, false}), HasSubstr("only regular files"));
  EXPECT_THAT(Mistakes({Write(std::string(5 << 20, '#')), {}, {}, false}),
              HasSubstr("more than 4194304 bytes"));
}

}  // namespace
}  // namespace sbump
