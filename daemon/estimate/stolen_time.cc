#include "daemon/estimate/stolen_time.h"

#include "daemon/base/str_cat.h"
#include "daemon/estimate/words.h"

namespace sbump {

double StolenShare(const std::vector<Window>& windows) {
  double stolen_ns = 0, wanted_ns = 0;
  for (const Window& window : windows) {
    stolen_ns += static_cast<double>(window.stolen_ns);
    wanted_ns += static_cast<double>(window.wanted_ns);
  }
  return wanted_ns > 0 ? stolen_ns / wanted_ns : 0;
}

std::string StolenWarning(double share, std::string_view when) {
  if (share < kMuchStolen) return "";
  return StrCat(when, " steal time was ", Percent(share),
                " of the processor time that was wanted (other machines on the host, or a limit of "
                "this one): threads are woken milliseconds late then, and where a unit takes only "
                "some of these, what is hidden may look critical, and what is critical worse than "
                "it is");
}

}  // namespace sbump
