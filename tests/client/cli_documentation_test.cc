// Man pages, completions and help of the real binary.
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/child.h"
#include "tests/client/fake_control.h"

namespace sbump::test {
namespace {

using ::testing::HasSubstr;

std::string Completed(const std::string& words, int index) {
  const std::string script = "source <(\"$0\" completions bash); COMP_WORDS=(" + words +
                             "); COMP_CWORD=" + std::to_string(index) +
                             "; _sbumpctl; echo \"${COMPREPLY[@]}\"";
  const ChildResult result = RunProgram({"/bin/bash", "-euc", script, SbumpctlPath()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return result.out;
}

TEST(Completions, BashCompletesCommandsOptionsAndValues) {
  EXPECT_EQ(Completed("sbumpctl at", 1), "attach\n");
  EXPECT_EQ(Completed("sbumpctl --endpoint unix:/x ma", 3), "match\n");
  EXPECT_EQ(Completed("sbumpctl attach --format ''", 3), "table json\n");
  EXPECT_EQ(Completed("sbumpctl attach --du", 2), "--duration\n");
  EXPECT_EQ(Completed("sbumpctl completions b", 2), "bash\n");
  EXPECT_EQ(Completed("sbumpctl help doc", 2), "doctor\n");
  EXPECT_EQ(Completed("sbumpctl attach --targets client/sbumpct", 3), "client/sbumpctl\n");
}

TEST(Completions, ZshNamesEveryCommand) {
  const ChildResult result = RunSbumpctl({"completions", "zsh"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, ::testing::StartsWith("#compdef sbumpctl\n"));
  for (const char* command : {"attach", "match", "list", "watch", "update", "detach", "doctor"}) {
    EXPECT_THAT(result.out, HasSubstr(std::string("'") + command + ":"));
  }
}

TEST(Help, EachCommandHasExamplesAndExitStatus) {
  for (const char* command :
       {"attach", "match", "list", "watch", "update", "detach", "doctor", "version"}) {
    const ChildResult result = RunSbumpctl({command, "--help"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr(std::string("Usage: sbumpctl ") + command));
    EXPECT_THAT(result.out, HasSubstr("Examples:"));
    EXPECT_THAT(result.out, HasSubstr("Exit status:"));
    EXPECT_EQ(RunSbumpctl({"help", command}).out, result.out);
  }
}

TEST(Man, EveryPageRendersCleanly) {
  SocketDirectory directory;
  const ChildResult written = RunSbumpctl({"generate-man", "all", "--output", directory.file("")});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  if (access("/usr/bin/groff", X_OK) != 0) GTEST_SKIP() << "groff is not installed";
  for (const char* page : {"sbumpctl", "sbumpctl-attach", "sbumpctl-match", "sbumpctl-list",
                           "sbumpctl-watch", "sbumpctl-update", "sbumpctl-detach",
                           "sbumpctl-doctor", "sbumpctl-version", "sbumpctl-completions"}) {
    const std::string file = directory.file(std::string(page) + ".1");
    const ChildResult rendered =
        RunProgram({"/usr/bin/groff", "-ww", "-man", "-Tutf8", "-P-cbu", file});
    EXPECT_EQ(rendered.exit_code, 0) << page;
    EXPECT_EQ(rendered.err, "") << page;
    EXPECT_THAT(rendered.out, HasSubstr("EXIT STATUS")) << page;
  }
}

}  // namespace
}  // namespace sbump::test
