#include <string_view>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/command_doc.h"
#include "client/help_text.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

bool IsFile(const OptionDoc& option) { return option.value == "FILE"; }
bool IsDirectory(const OptionDoc& option) { return option.value == "DIR"; }
bool IsChoice(const OptionDoc& option) { return option.value.find('|') != option.value.npos; }

std::string Choices(const OptionDoc& option) {
  return absl::StrReplaceAll(option.value, {{"|", " "}});
}

std::vector<std::string> VisibleNames(const CommandDoc& root) {
  std::vector<std::string> names;
  for (const CommandDoc& command : root.commands) {
    if (!command.hidden) names.push_back(command.name);
  }
  return names;
}

std::vector<std::string> AllOptionNames(const std::vector<OptionDoc>& options) {
  std::vector<std::string> names;
  for (const OptionDoc& option : options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

// ---- bash ----

// What the word after an option that takes a value may be, as one arm of a case.
std::string BashValueArm(const OptionDoc& option) {
  if (option.value.empty()) return "";
  const std::string names = absl::StrJoin(option.names, "|");
  std::string action = "COMPREPLY=()";
  if (IsFile(option)) action = "COMPREPLY=($(compgen -f -- \"$word\"))";
  if (IsDirectory(option)) action = "COMPREPLY=($(compgen -d -- \"$word\"))";
  if (IsChoice(option)) {
    action = StrCat("COMPREPLY=($(compgen -W '", Choices(option), "' -- \"$word\"))");
  }
  return StrCat("        ", names, ") ", action, "; return ;;\n");
}

std::string BashCommandArm(const CommandDoc& command, const CommandDoc& root) {
  std::string words = absl::StrJoin(AllOptionNames(command.options), " ");
  words += StrCat(" ", absl::StrJoin(AllOptionNames(root.options), " "));
  for (const OptionDoc& positional : command.positionals) {
    if (IsChoice(positional)) words += " " + Choices(positional);
  }
  if (command.name == "help") words += " " + absl::StrJoin(VisibleNames(root), " ");
  std::string arm = StrCat("    ", command.name, ")\n      case $previous in\n");
  for (const OptionDoc& option : command.options) arm += BashValueArm(option);
  return StrCat(arm, "      esac\n      COMPREPLY=($(compgen -W '", words, "' -- \"$word\")) ;;\n");
}

// ---- zsh ----

// Inside single quotes and a [...] description of _arguments.
std::string ZshText(std::string_view text) {
  return absl::StrReplaceAll(
      ToAbsl(text), {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}, {"`", "\\`"}});
}

std::string ZshValue(const OptionDoc& option) {
  if (option.value.empty()) return "";
  if (IsFile(option)) return ":file:_files";
  if (IsDirectory(option)) return ":directory:_files -/";
  if (IsChoice(option)) return StrCat(":value:(", Choices(option), ")");
  return StrCat(":", ZshText(option.value), ":");
}

std::string ZshOption(const OptionDoc& option) {
  const std::string rest = StrCat("[", ZshText(option.text), "]", ZshValue(option), "'");
  if (option.names.size() == 1) return StrCat("'*", option.names[0], rest);
  return StrCat("'*'{", absl::StrJoin(option.names, ","), "}'", rest);
}

std::string ZshOptions(const std::vector<OptionDoc>& options) {
  std::string lines;
  for (const OptionDoc& option : options) lines += StrCat(" \\\n        ", ZshOption(option));
  return lines;
}

std::string ZshPositionals(const CommandDoc& command, const CommandDoc& root) {
  if (command.name == "help") {
    return StrCat(" \\\n        '1:command:(", absl::StrJoin(VisibleNames(root), " "), ")'");
  }
  std::string lines;
  for (const OptionDoc& positional : command.positionals) {
    const std::string value = IsChoice(positional) ? StrCat("(", Choices(positional), ")") : "";
    lines += StrCat(" \\\n        ':", ZshText(positional.names[0]), ":", value, "'");
  }
  return lines;
}

}  // namespace

std::string BashCompletions(const CommandDoc& root) {
  std::string script = StrCat(
      "# bash completion for sbumpctl: source it, or install it as\n"
      "# /usr/share/bash-completion/completions/sbumpctl\n"
      "_sbumpctl() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command='' i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case ${COMP_WORDS[i]} in\n"
      "      --endpoint|--context|--tls-ca|--tls-cert|--tls-key) ((i++)) ;;\n"
      "      -*) ;;\n"
      "      *) command=${COMP_WORDS[i]}; break ;;\n"
      "    esac\n"
      "  done\n"
      "  case $command in\n");
  for (const CommandDoc& command : root.commands) {
    if (!command.hidden) script += BashCommandArm(command, root);
  }
  script += StrCat("    '') COMPREPLY=($(compgen -W '", absl::StrJoin(VisibleNames(root), " "), " ",
                   absl::StrJoin(AllOptionNames(root.options), " "), "' -- \"$word\")) ;;\n",
                   "  esac\n"
                   "}\n"
                   "complete -F _sbumpctl sbumpctl\n");
  return script;
}

std::string ZshCompletions(const CommandDoc& root) {
  std::string script =
      "#compdef sbumpctl\n"
      "_sbumpctl() {\n"
      "  local curcontext=$curcontext state line\n"
      "  typeset -A opt_args\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const CommandDoc& command : root.commands) {
    if (command.hidden) continue;
    script += StrCat("    '", command.name, ":", ZshText(TextOf(command.name).summary), "'\n");
  }
  script += StrCat("  )\n  _arguments -C", ZshOptions(root.options),
                   " \\\n        '1:command:->command' \\\n        '*::argument:->argument'\n"
                   "  case $state in\n"
                   "    command) _describe command commands ;;\n"
                   "    argument)\n"
                   "      case $line[1] in\n");
  for (const CommandDoc& command : root.commands) {
    if (command.hidden) continue;
    script += StrCat("      ", command.name, ") _arguments", ZshOptions(command.options),
                     ZshPositionals(command, root), " ;;\n");
  }
  script +=
      "      esac ;;\n"
      "  esac\n"
      "}\n"
      "if [[ $funcstack[1] == _sbumpctl ]]; then _sbumpctl \"$@\"; else compdef _sbumpctl "
      "sbumpctl; "
      "fi\n";
  return script;
}

}  // namespace sbump
