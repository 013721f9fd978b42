// Ends a session that weighs more on its processes than its client allowed
// (AttachSpec::guardrails).
#pragma once

#include <optional>
#include <string>

#include "daemon/session/attach_spec.h"
#include "daemon/stats/rate_meter.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

class Guard {
 public:
  explicit Guard(const Guardrails& limits) : limits_(limits) {}

  // With each snapshot of an active session, from the first on: why it must end, where it must. The
  // figures are least ones: of a second that is not over yet the rest counts as quiet.
  std::optional<std::string> Judge(uint64_t now_ns, const SessionSnapshot& snapshot);

 private:
  const Guardrails limits_;
  RateMeter calls_;
  RateMeter injected_ns_;
};

}  // namespace sbump
