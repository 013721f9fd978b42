// What the end of an attach means for the exit status.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "client/exit_code.h"
#include "proto/sbump/v1/control.pb.h"

namespace sbump {

struct Outcome {
  ExitCode code = ExitCode::kOk;
  std::string message;  // for standard error; empty: nothing to say
};

struct StreamEnd {
  absl::Status status;          // of the call
  int interrupts = 0;           // Ctrl-C and the like, so far
  bool leaves_running = false;  // an interrupt ends the client only (--keep, watch)
};

// `head` as in SessionModel. Worst first: a proof that is not clean, a target that ended, a limit,
// no match.
Outcome AttachOutcome(const v1::SessionUpdate& head, const StreamEnd& end);
// Watching somebody else's session to its end, however it ended, is a success.
Outcome WatchOutcome(const v1::SessionUpdate& head, const StreamEnd& end);

}  // namespace sbump
