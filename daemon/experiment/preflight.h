// Whether groups can be tested at all: whether they have functions, and those are called.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "daemon/estimate/recording.h"
#include "daemon/experiment/pilot.h"

namespace sbump {

// Why nothing can be said of group `i`; empty: it is called while the metric moves.
std::string WhyNotCalled(const std::vector<Group>& groups, const Pilot& pilot, size_t i);

// kNotFound where what is to be tested takes no function that is loaded; kFailedPrecondition where
// it is not called, or a positive control is not.
absl::Status CheckCalled(const std::vector<Group>& groups, const Pilot& pilot);

// Both of them, of a factorial experiment.
absl::Status CheckBothCalled(const std::vector<Group>& groups, const Pilot& pilot);

// Of groups that are tested though a part of what they name is not in them. That what is a control
// is in no other group goes without saying.
std::vector<std::string> WarningsOfTargets(const std::vector<Group>& groups, const Pilot& pilot);

}  // namespace sbump
