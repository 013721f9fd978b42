#include "client/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

std::string_view ValueOf(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool IsDumb(const Environment& environment) { return ValueOf(environment, "TERM") == "dumb"; }

std::string_view Sequence(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kStrong:
      return "\x1b[1m";
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kWarn:
      return "\x1b[33m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kFaint:
      return "\x1b[2m";
  }
  return "";
}

}  // namespace

bool IsTerminal(int fd) { return isatty(fd) == 1; }

TerminalSize SizeOf(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

bool WantsColor(bool is_terminal, const Environment& environment) {
  if (!ValueOf(environment, "NO_COLOR").empty()) return false;
  const std::string_view force = ValueOf(environment, "CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  if (ValueOf(environment, "CLICOLOR") == "0") return false;
  return is_terminal && !IsDumb(environment);
}

bool CanRedraw(bool is_terminal, const Environment& environment) {
  return is_terminal && !IsDumb(environment);
}

std::string Palette::Paint(Tone tone, std::string_view text) const {
  if (!enabled_ || tone == Tone::kPlain || text.empty()) return std::string(text);
  return StrCat(Sequence(tone), text, "\x1b[0m");
}

}  // namespace sbump
