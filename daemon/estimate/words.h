// Numbers within sentences.
#pragma once

#include <string>

#include "daemon/estimate/interval.h"

namespace sbump {

// With so many decimals: "0.05".
std::string Fixed(double value, int decimals);
// "[0.91, 1.08]".
std::string Words(const Interval& interval, int decimals = 2);
// That tell what is within a margin from what is not: 2, and more for a small one.
int DecimalsOf(double margin);
// "4.2 %".
std::string Percent(double share);
// With the unit that leaves one to three digits before the point: "1.50 ms".
std::string DurationWords(double ns);

}  // namespace sbump
