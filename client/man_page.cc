#include <string_view>

#include "client/command_doc.h"
#include "client/exit_code.h"
#include "client/help_text.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/version.h"

namespace sbump {
namespace {

// Text as roff takes it literally: backslashes and hyphens escaped, no line that begins a request.
std::string Roff(std::string_view text) {
  std::string out;
  bool at_line_start = true;
  for (const char c : text) {
    if (at_line_start && (c == '.' || c == '\'')) out += "\\&";
    at_line_start = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '`') {
      out += "\\(ga";
    } else {
      out += c;
    }
  }
  return out;
}

std::string FullName(const CommandDoc& command) {
  return command.name.empty() ? "sbumpctl" : StrCat("sbumpctl-", command.name);
}

std::string Upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string Tagged(const std::string& tag, std::string_view text) {
  return StrCat(".TP\n", tag, "\n", Roff(text), "\n");
}

std::string Bold(std::string_view text) { return StrCat("\\fB", Roff(text), "\\fR"); }
std::string Italic(std::string_view text) { return StrCat("\\fI", Roff(text), "\\fR"); }

std::string Tag(const OptionDoc& option) {
  std::string tag;
  for (const std::string& name : option.names) {
    tag += StrCat(tag.empty() ? "" : ", ", Bold(name));
  }
  return option.value.empty() ? tag : StrCat(tag, " ", Italic(option.value));
}

std::string Options(std::string_view title, const std::vector<OptionDoc>& options) {
  if (options.empty()) return "";
  std::string section = StrCat(".SH ", title, "\n");
  for (const OptionDoc& option : options) section += Tagged(Tag(option), option.text);
  return section;
}

std::string Paragraphs(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find("\n\n"), text.size());
    out += StrCat(out.empty() ? "" : ".PP\n", Roff(text.substr(0, end)), "\n");
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return out;
}

std::string Commands(const std::vector<CommandDoc>& commands) {
  std::string section;
  for (const CommandDoc& command : commands) {
    if (command.hidden) continue;
    section += Tagged(Bold(command.name), TextOf(command.name).summary);
  }
  return section.empty() ? "" : ".SH COMMANDS\n" + section;
}

std::string Examples(const CommandText& text) {
  std::string section;
  for (const Example& example : text.examples) {
    section += StrCat(section.empty() ? "" : ".PP\n", Roff(example.what), "\n.PP\n.RS 4\n.nf\n",
                      Roff(example.command), "\n.fi\n.RE\n");
  }
  return section.empty() ? "" : ".SH EXAMPLES\n" + section;
}

std::string ExitStatus() {
  std::string section = ".SH EXIT STATUS\n";
  for (const ExitCodeText& text : ExitCodeTexts()) {
    section += Tagged(Bold(StrCat(static_cast<int>(text.code))), text.meaning);
  }
  return section;
}

std::string Named(std::string_view title, std::span<const NamedText> texts) {
  std::string section = StrCat(".SH ", title, "\n");
  for (const NamedText& text : texts) section += Tagged(Bold(text.name), text.meaning);
  return section;
}

std::string SeeAlso(const CommandDoc& command) {
  std::string list;
  for (const CommandDoc& other : command.commands) {
    if (other.hidden) continue;
    list += StrCat(list.empty() ? "" : " ,\n", ".BR ", Roff(FullName(other)), " (1)");
  }
  return StrCat(".SH SEE ALSO\n", list.empty() ? ".BR sbumpctl (1)" : list, "\n");
}

}  // namespace

std::string ManFileName(const CommandDoc& command) { return FullName(command) + ".1"; }

std::string ManPage(const CommandDoc& command) {
  const CommandText text = TextOf(command.name);
  const std::string name = FullName(command);
  std::string page = StrCat(".TH ", Roff(Upper(name)), " 1 \"\" \"sbump ", kVersion,
                            "\" \"sbump\"\n.SH NAME\n", Roff(name), " \\- ", Roff(text.summary),
                            "\n.SH SYNOPSIS\n", Bold(command.usage), "\n.SH DESCRIPTION\n");
  page += Paragraphs(text.details.empty() ? AsSentence(text.summary) : std::string(text.details));
  page += Commands(command.commands);
  page += Options("ARGUMENTS", command.positionals);
  page += Options("OPTIONS", command.options);
  page += ExitStatus();
  page += Named("ENVIRONMENT", EnvironmentTexts(command.name));
  page += Named("FILES", FileTexts());
  page += Examples(text);
  page += SeeAlso(command);
  return page;
}

}  // namespace sbump
