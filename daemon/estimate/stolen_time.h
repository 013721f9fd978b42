// Whether the machine was all there while an experiment ran: below a hypervisor that gives its
// processors to others, whoever waits is woken late, and a unit that is short against that is
// another one then.
#pragma once

#include <string>

#include "daemon/estimate/recording.h"

namespace sbump {

// Of what processors were wanted for.
inline constexpr double kMuchStolen = 0.05;

// Over all windows, each as long as it was.
double StolenShare(const std::vector<Window>& windows);

// Empty where it is less than kMuchStolen. `while_what`: "while this was measured".
std::string StolenWarning(double share, std::string_view while_what);

}  // namespace sbump
