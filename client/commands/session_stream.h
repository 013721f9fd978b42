// Follows a session's updates to their end, whatever comes first: the end, an interrupt, a reader
// of our output that went away, or the daemon's death.
#pragma once

#include <string>

#include "client/channel.h"
#include "client/commands/command.h"
#include "client/interrupt.h"
#include "client/output_file.h"
#include "client/session_model.h"
#include "client/session_outcome.h"
#include "client/session_output.h"

namespace sbump {

enum class OnInterrupt {
  kDetach,  // end the session and wait for its last update; the second time, give up
  kLeave,   // end the call only
};

// `interrupt` has not been watched yet. Fills `model`; the output's Finish() was called where the
// session began.
StreamEnd FollowSession(ControlClient* client, UpdateStream* stream, Interrupt* interrupt,
                        OnInterrupt on_interrupt, OutputFile* file, SessionOutput* output,
                        SessionModel* model);

// The output that suits the flags and the terminal.
std::unique_ptr<SessionOutput> ChooseOutput(const CommandContext& context, bool json,
                                            OnInterrupt on_interrupt, OutputFile* file);

}  // namespace sbump
