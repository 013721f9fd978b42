#include <string_view>

#include "absl/strings/str_join.h"
#include "client/command_doc.h"
#include "client/exit_code.h"
#include "client/help_text.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr size_t kTextColumn = 30;
constexpr size_t kLineWidth = 96;

// Breaks at spaces; every line after the first begins with `indent` spaces.
std::string Wrap(std::string_view text, size_t indent) {
  std::string out;
  size_t column = indent;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    if (column + end > kLineWidth && column > indent) {
      if (out.ends_with(' ')) out.pop_back();
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    out.append(text.substr(0, end));
    column += end;
    if (end == text.size()) break;
    if (text[end] == '\n') {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else {
      out += ' ';
      ++column;
    }
    text.remove_prefix(end + 1);
  }
  return out;
}

// "  NAME      text", the text in its column or below a name that is too long.
std::string Entry(std::string_view name, std::string_view text) {
  std::string line = StrCat("  ", name);
  if (line.size() + 2 > kTextColumn) {
    line += "\n" + std::string(kTextColumn, ' ');
  } else {
    line.resize(kTextColumn, ' ');
  }
  return StrCat(line, Wrap(text, kTextColumn), "\n");
}

std::string NameOf(const OptionDoc& option) {
  const std::string names = absl::StrJoin(option.names, ", ");
  return option.value.empty() ? names : StrCat(names, " ", option.value);
}

std::string Section(std::string_view title, const std::string& entries) {
  return entries.empty() ? "" : StrCat("\n", title, ":\n", entries);
}

std::string OptionEntries(const std::vector<OptionDoc>& options) {
  std::string entries;
  for (const OptionDoc& option : options) entries += Entry(NameOf(option), option.text);
  return entries;
}

std::string CommandEntries(const std::vector<CommandDoc>& commands) {
  std::string entries;
  for (const CommandDoc& command : commands) {
    if (!command.hidden) entries += Entry(command.name, TextOf(command.name).summary);
  }
  return entries;
}

std::string ExampleEntries(const CommandText& text) {
  std::string entries;
  for (const Example& example : text.examples) {
    entries += StrCat("  # ", example.what, "\n  ", example.command, "\n");
  }
  return entries;
}

std::string EnvironmentEntries(const CommandDoc& command) {
  std::string entries;
  for (const NamedText& text : EnvironmentTexts(command.name))
    entries += Entry(text.name, text.meaning);
  return entries;
}

std::string ExitEntries() {
  std::string entries;
  for (const ExitCodeText& text : ExitCodeTexts()) {
    entries += Entry(StrCat(static_cast<int>(text.code)), text.meaning);
  }
  return entries;
}

}  // namespace

std::string HelpPage(const CommandDoc& command) {
  const CommandText text = TextOf(command.name);
  std::string page =
      StrCat("Usage: ", command.usage, "\n\n", Wrap(AsSentence(text.summary), 0), "\n");
  if (!text.details.empty()) page += StrCat("\n", Wrap(text.details, 0), "\n");
  page += Section("Commands", CommandEntries(command.commands));
  page += Section("Arguments", OptionEntries(command.positionals));
  page += Section("Options", OptionEntries(command.options));
  page += Section("Examples", ExampleEntries(text));
  page += Section("Environment", EnvironmentEntries(command));
  page += Section("Exit status", ExitEntries());
  return page;
}

}  // namespace sbump
