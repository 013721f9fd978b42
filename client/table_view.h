// One frame of the refreshing table, as lines; and the escape codes that put it in the place of the
// frame before.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/session_model.h"
#include "client/terminal.h"

namespace sbump {

// At most size.rows - 1 lines, none wider than size.columns: the heading, the targets, patterns
// that want attention, warnings. `hint` says what Ctrl-C does.
std::vector<std::string> FrameLines(const SessionModel& model, const Palette& palette,
                                    TerminalSize size, std::string_view hint);

// Remembers how much it drew; never leaves the normal screen.
class Frame {
 public:
  // What to write to replace the last frame by `lines`.
  std::string Redraw(const std::vector<std::string>& lines);
  // What to write to take the last frame away.
  std::string Erase();

 private:
  size_t drawn_ = 0;
};

}  // namespace sbump
