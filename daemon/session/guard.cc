#include "daemon/session/guard.h"

#include <cmath>

#include "daemon/base/str_cat.h"

namespace sbump {

std::optional<std::string> Guard::Judge(uint64_t now_ns, const SessionSnapshot& snapshot) {
  uint64_t calls = 0, injected_ns = 0;
  for (const auto& process : snapshot.processes) {
    for (const RowCounters& row : process->counters) {
      calls += row.calls;
      injected_ns += row.injected_delay_ns;
    }
  }
  const uint64_t calls_per_second = std::llround(1e9 * calls_.Add(now_ns, calls));
  const uint64_t percent = std::llround(100 * injected_ns_.Add(now_ns, injected_ns));
  if (limits_.calls_per_second != 0 && calls_per_second > limits_.calls_per_second) {
    return StrCat("guardrail: at least ", calls_per_second,
                  " matching calls a second, and the most is ", limits_.calls_per_second);
  }
  if (limits_.duty_percent != 0 && percent > limits_.duty_percent) {
    return StrCat("guardrail: at least ", percent, " % of the time was injected, and the most is ",
                  limits_.duty_percent, " %");
  }
  if (limits_.hold_ns != 0 && snapshot.times.hold_max_ns > limits_.hold_ns) {
    return StrCat("guardrail: a thread waited ", snapshot.times.hold_max_ns,
                  " ns for new code to be looked at, and the most is ", limits_.hold_ns, " ns");
  }
  return std::nullopt;
}

}  // namespace sbump
