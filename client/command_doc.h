// A command line described as data: read once from the flags' own definitions, then rendered as
// --help, man pages and shell completions, so that these cannot disagree.
#pragma once

#include <string>
#include <vector>

namespace sbump {

struct OptionDoc {
  std::vector<std::string> names;  // "-p", "--pid"; a positional: its name alone, "SESSION"
  std::string value;               // "DURATION", "table|json"; empty: takes none
  std::string text;
};

struct CommandDoc {
  std::string name;  // empty: sbumpctl itself
  bool hidden = false;
  std::string usage;  // "sbumpctl attach [OPTIONS] [PID]"
  std::vector<OptionDoc> positionals;
  std::vector<OptionDoc> options;
  std::vector<CommandDoc> commands;
};

// The plain text of --help.
std::string HelpPage(const CommandDoc& command);
// A man page of section 1, in man(7) roff.
std::string ManPage(const CommandDoc& command);
// The file name it belongs under: "sbumpctl-attach.1".
std::string ManFileName(const CommandDoc& command);

// Scripts that complete commands, options and their values.
std::string BashCompletions(const CommandDoc& root);
std::string ZshCompletions(const CommandDoc& root);

}  // namespace sbump
