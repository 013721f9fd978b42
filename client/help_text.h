// The words of --help, the man pages and the completions that are not an option's own.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sbump {

struct Example {
  std::string_view what;
  std::string_view command;
};

struct CommandText {
  std::string_view name;     // "attach"; empty: sbumpctl itself
  std::string_view summary;  // one line, no full stop
  std::string_view details;  // paragraphs, separated by empty lines; may be empty
  std::span<const Example> examples;
};

struct NamedText {
  std::string_view name;
  std::string_view meaning;
};

// Without a text of its own a command has only its name.
CommandText TextOf(std::string_view command);

// "Print the versions." for "print the versions".
std::string AsSentence(std::string_view summary);

// The variables that `command` reads.
std::span<const NamedText> EnvironmentTexts(std::string_view command);
std::span<const NamedText> FileTexts();

}  // namespace sbump
