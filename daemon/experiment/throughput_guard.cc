#include "daemon/experiment/throughput_guard.h"

#include <string>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

// Slow windows that end an experiment: so many in a row that are so long together, as short ones
// are all slow where the machine stands still for a moment; or of one arm in so many blocks in a
// row.
constexpr int kSlowInARow = 2, kSlowOfAnArm = 3;
constexpr uint64_t kSlowNs = 500'000'000;
// Nobody sees what delays do to the service then.
constexpr int kBlindInARow = 10;

// Of throughput and of a latency.
std::string HowSlow(const Window& window, double unit_ns, bool also_undelayed) {
  std::string words =
      window.flaw.empty()
          ? StrCat("work took ", Fixed(NsPerUnit(window) / unit_ns, 2), " times as long as ",
                   also_undelayed ? "in the pilot" : "without delays")
          : StrCat("work seems to stand still (", window.flaw, ")");
  if (also_undelayed)
    words +=
        ", also in a window without delays: the load has changed, or a delay has left work behind";
  return words;
}

}  // namespace

absl::Status ThroughputGuard::Check(const Window& window, bool is_delayed) {
  blind_in_a_row_ = window.flaw.empty() || window.stood_still ? 0 : blind_in_a_row_ + 1;
  if (blind_in_a_row_ >= kBlindInARow)
    return absl::FailedPreconditionError(StrCat("guardrail: ", kBlindInARow,
                                                " windows in a row could not be measured (",
                                                window.flaw, "): all delays were taken away"));
  if (blind_in_a_row_ > 0) return absl::OkStatus();
  const double share = window.flaw.empty() ? unit_ns_ / NsPerUnit(window) : 0;
  const bool is_slow = share < lowest_throughput_;
  is_slow_undelayed_ = is_slow && (is_slow_undelayed_ || !is_delayed);
  slow_in_a_row_ = is_slow ? slow_in_a_row_ + 1 : 0;
  slow_ns_ = is_slow ? slow_ns_ + (window.end_ns - window.begin_ns) : 0;
  int& slow_of_arm = slow_of_arm_[window.arm];
  slow_of_arm = is_slow ? slow_of_arm + 1 : 0;
  if ((slow_in_a_row_ < kSlowInARow || slow_ns_ < kSlowNs) && slow_of_arm < kSlowOfAnArm)
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      StrCat("guardrail: ", HowSlow(window, unit_ns_, is_slow_undelayed_), "; the most is ",
             Fixed(1 / lowest_throughput_, 2), " times (lowest throughput ",
             Percent(lowest_throughput_), "): all delays were taken away"));
}

}  // namespace sbump
