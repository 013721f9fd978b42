// A look at what is called: a session without delays, for some seconds.
#pragma once

#include "absl/status/statusor.h"
#include "client/channel.h"
#include "client/session_outcome.h"
#include "client/stopper.h"

namespace sbump {

struct CallsSeen {
  v1::SessionUpdate head;  // with all rows
  Outcome outcome;         // kOk: it went to its end
};

// `request` has a duration.
CallsSeen LookAtCalls(ControlClient& client, Stopper& stopper, const v1::AttachRequest& request);

}  // namespace sbump
