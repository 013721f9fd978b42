#include "daemon/estimate/stolen_time.h"

#include "daemon/base/str_cat.h"
#include "daemon/estimate/words.h"

namespace sbump {

double StolenShare(const std::vector<Window>& windows) {
  double stolen_ns = 0, whole_ns = 0;
  for (const Window& window : windows) {
    if (window.end_ns <= window.begin_ns) continue;
    const auto length_ns = static_cast<double>(window.end_ns - window.begin_ns);
    stolen_ns += window.stolen * length_ns;
    whole_ns += length_ns;
  }
  return whole_ns > 0 ? stolen_ns / whole_ns : 0;
}

std::string StolenWarning(double share, std::string_view while_what) {
  if (share < kMuchStolen) return "";
  return StrCat(
      while_what, ", the hypervisor gave ", Percent(share),
      " of the time that processors were wanted for here to other machines: threads are woken "
      "milliseconds late then, and where a unit takes little more than that, what is hidden may "
      "look critical, and what is critical worse than it is; try again when the host is less busy");
}

}  // namespace sbump
