// What the standard streams are connected to, and whether colours are wanted there.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace sbump {

// An environment: nullptr where the variable is unset. std::getenv, or a test's own.
using Environment = std::function<const char*(const char* name)>;

struct TerminalSize {
  size_t columns;
  size_t rows;
};

bool IsTerminal(int fd);

// The terminal's present size; 80 x 24 where it does not say.
TerminalSize SizeOf(int fd);

// NO_COLOR (https://no-color.org) beats CLICOLOR_FORCE beats CLICOLOR=0; without any of them a
// terminal that is not "dumb" has colours.
bool WantsColor(bool is_terminal, const Environment& environment);

// True where lines can be redrawn in place.
bool CanRedraw(bool is_terminal, const Environment& environment);

enum class Tone { kPlain, kStrong, kGood, kWarn, kBad, kFaint };

// Wraps text into SGR sequences, or leaves it alone.
class Palette {
 public:
  explicit Palette(bool enabled) : enabled_(enabled) {}
  std::string Paint(Tone tone, std::string_view text) const;

 private:
  bool enabled_;
};

}  // namespace sbump
