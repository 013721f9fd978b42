// An attach from its request to its end, as the user sees it.
#pragma once

#include <functional>
#include <string>

#include "client/commands/command.h"
#include "client/session_model.h"

namespace sbump {

struct AttachOutput {
  bool keep = false;  // the session outlives the command
  bool json = false;
  std::string output;      // --output
  std::string spans_file;  // empty: none; the ending is one that SpanFormatOf() knows
  // Called once, when it has ended well or badly.
  std::function<void(const SessionModel& model)> at_end;
};

// kInvalidArgument: the spans cannot be written as --spans says, or not with --keep.
absl::Status CheckSpansFile(const AttachOutput& shown);

ExitCode FollowAttach(const CommandContext& context, const AttachOutput& shown,
                      const v1::AttachRequest& request);

}  // namespace sbump
