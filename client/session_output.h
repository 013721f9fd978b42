// How a session's updates reach the user: as JSON, as appended text, or as a table that refreshes.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "client/output_file.h"
#include "client/session_model.h"
#include "client/terminal.h"

namespace sbump {

// Used from one thread, except Notice.
class SessionOutput {
 public:
  virtual ~SessionOutput() = default;
  // After each whole update; `model` has it already.
  virtual void Show(const v1::SessionUpdate& update, const SessionModel& model) = 0;
  // Once, after the last update.
  virtual void Finish(const SessionModel& model) = 0;
  // A short remark while the session runs, from any thread.
  virtual void Notice(std::string_view text) { Say(text); }
};

// `file` must outlive the output.
std::unique_ptr<SessionOutput> JsonSessionOutput(OutputFile* file);
// Append-only: a line when ACTIVE, a compact table each interval, a summary. No escape codes unless
// the palette has colours.
std::unique_ptr<SessionOutput> PlainSessionOutput(OutputFile* file, Palette palette);
// Redraws in place on a terminal; the frame is at most as high as the screen. `hint` says what
// Ctrl-C does, and must outlive the output.
std::unique_ptr<SessionOutput> LiveSessionOutput(OutputFile* file, Palette palette,
                                                 std::string_view hint);

}  // namespace sbump
