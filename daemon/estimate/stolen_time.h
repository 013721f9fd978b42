// Whether the machine was all there while an experiment ran: where its hypervisor does not give it
// its processors, whoever waits is woken late, and a unit that is short against that is another one
// then.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/estimate/recording.h"

namespace sbump {

// Of what processors were wanted for, over all windows; 0 where nothing is known.
double StolenShare(const std::vector<Window>& windows);

inline constexpr double kMuchStolen = 0.05;

// Empty where it is less than that.
std::string StolenWarning(double share, std::string_view when);
inline constexpr char kWhileMeasured[] = "while this was measured";

}  // namespace sbump
