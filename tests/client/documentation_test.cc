#include <set>

#include "client/command_doc.h"
#include "client/exit_code.h"
#include "client/help_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CommandDoc Sample() {
  CommandDoc command;
  command.name = "attach";
  command.usage = "sbumpctl attach [OPTIONS] [PID]";
  command.options = {{{"-p", "--pid"}, "PID", "the process's id, a \\ and a 'quote'"},
                     {{"--format"}, "table|json", ".begins with a dot"},
                     {{"--keep"}, "", "stay"}};
  CommandDoc root;
  root.usage = "sbumpctl COMMAND";
  root.commands = {command, {}};
  root.commands[1].name = "generate-man";
  root.commands[1].hidden = true;
  return root;
}

TEST(ExitCodes, AreDistinctAndAllDocumented) {
  std::set<int> codes;
  for (const ExitCodeText& text : ExitCodeTexts()) codes.insert(static_cast<int>(text.code));
  EXPECT_EQ(codes.size(), 17u);
  EXPECT_EQ(*codes.begin(), 0);
  EXPECT_EQ(*codes.rbegin(), 16);
}

TEST(HelpPage, ListsVisibleCommandsAndOptions) {
  const std::string root = HelpPage(Sample());
  EXPECT_THAT(root, HasSubstr("  attach  "));
  EXPECT_THAT(root, Not(HasSubstr("generate-man")));
  const std::string page = HelpPage(Sample().commands[0]);
  EXPECT_THAT(page, HasSubstr("  -p, --pid PID               the process's id"));
  EXPECT_THAT(page, HasSubstr("  --keep                      stay\n"));
}

TEST(HelpPage, LinesFitATerminal) {
  const std::string page = HelpPage(Sample().commands[0]);
  for (size_t at = 0; at < page.size();) {
    const size_t end = page.find('\n', at);
    const std::string line = page.substr(at, end - at);
    // An example is one command and stays one line.
    if (!line.starts_with("  sbumpctl") && !line.starts_with("  grep")) {
      EXPECT_LE(line.size(), 96u) << line;
    }
    at = end + 1;
  }
}

TEST(ManPage, EscapesWhatRoffWouldTake) {
  const std::string page = ManPage(Sample().commands[0]);
  EXPECT_THAT(page, HasSubstr(".TP\n\\fB\\-p\\fR, \\fB\\-\\-pid\\fR \\fIPID\\fR\n"));
  EXPECT_THAT(page, HasSubstr("a \\e and a \\(aqquote\\(aq"));
  EXPECT_THAT(page, HasSubstr("\n\\&.begins with a dot\n"));
  EXPECT_EQ(ManFileName(Sample()), "sbumpctl.1");
  EXPECT_EQ(ManFileName(Sample().commands[0]), "sbumpctl-attach.1");
}

TEST(ZshCompletions, DescribeOptions) {
  const std::string script = ZshCompletions(Sample());
  EXPECT_THAT(script, HasSubstr("'*'{-p,--pid}'[the process'\\''s id"));
  EXPECT_THAT(script, HasSubstr("'*--format[.begins with a dot]:value:(table json)'"));
  EXPECT_THAT(script, HasSubstr("'*--keep[stay]'"));
}

}  // namespace
}  // namespace sbump
