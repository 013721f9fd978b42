#include "daemon/experiment/experiment.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/words.h"
#include "daemon/experiment/block_run.h"
#include "daemon/experiment/pilot.h"

namespace sbump {
namespace {

// Slow windows that end an experiment: so many in a row that are so long together, as short ones
// are all slow where the machine stands still for a moment; or of one arm in so many blocks in a
// row.
constexpr int kSlowInARow = 2, kSlowOfAnArm = 3;
constexpr uint64_t kSlowNs = 500'000'000;
// Nobody sees what delays do to the service then.
constexpr int kBlindInARow = 10;

class Run {
 public:
  Run(Specimen& specimen, const std::vector<Group>& groups, const ExperimentWishes& wishes,
      ExperimentListener& listener)
      : specimen_(specimen), groups_(groups), wishes_(wishes), listener_(listener) {}

  absl::Status Go() {
    const uint64_t begin_ns = specimen_.NowNs();
    listener_.OnProgress({.phase = ExperimentPhase::kPreflight});
    SB_ASSIGN_OR_RETURN(const Pilot pilot, RunPilot(specimen_, groups_, wishes_,
                                                    [this](const Window& window, size_t in_all) {
                                                      OnPilotWindow(window, in_all);
                                                    }));
    SB_ASSIGN_OR_RETURN(plan_,
                        MakeExperimentPlan(groups_, wishes_, pilot, specimen_.NowNs() - begin_ns,
                                           specimen_.ShortestWindowNs()));
    SB_ASSIGN_OR_RETURN(const bool goes_on, listener_.OnPlan(plan_));
    if (!goes_on) return absl::CancelledError("the plan was not wanted");
    recording_ = {.groups = groups_, .arms = plan_.arms};
    const absl::Status status =
        RunBlocks(specimen_, plan_.arms, plan_.order,
                  {.washout_ns = plan_.washout_ns, .window_ns = plan_.window_ns},
                  [this](const Window& window) { return OnWindow(window); });
    listener_.OnAnswer({.phase = plan_.phase,
                        .estimate = Estimate(recording_, Options()),
                        .is_partial = !status.ok()});
    // Whoever ends it early wants the answer that there is.
    return absl::IsCancelled(status) ? absl::OkStatus() : status;
  }

 private:
  EstimateOptions Options() const { return {.margin = wishes_.margin, .seed = wishes_.seed}; }

  void OnPilotWindow(const Window& window, size_t in_all) {
    listener_.OnWindow(ExperimentPhase::kPilot, window);
    listener_.OnProgress({.phase = ExperimentPhase::kPilot,
                          .windows_done = window.block + size_t{1},
                          .windows_in_all = in_all});
  }

  absl::Status OnWindow(const Window& window) {
    recording_.windows.push_back(window);
    listener_.OnWindow(plan_.phase, window);
    const size_t in_all = plan_.windows();
    const size_t done = recording_.windows.size();
    listener_.OnProgress({.phase = plan_.phase,
                          .windows_done = done,
                          .windows_in_all = in_all,
                          .remaining_ns = (in_all - done) * (plan_.window_ns + plan_.washout_ns)});
    return CheckThroughput(window);
  }

  // A guardrail: the service comes first. One window alone may be a stall of the machine; of one
  // that could not be measured nothing is known.
  absl::Status CheckThroughput(const Window& window) {
    blind_in_a_row_ = window.flaw.empty() || window.stood_still ? 0 : blind_in_a_row_ + 1;
    if (blind_in_a_row_ >= kBlindInARow)
      return absl::AbortedError(StrCat("guardrail: ", kBlindInARow,
                                       " windows in a row could not be measured (", window.flaw,
                                       "): all delays were taken away"));
    if (blind_in_a_row_ > 0) return absl::OkStatus();
    const double share = window.flaw.empty() ? plan_.unit_ns / NsPerUnit(window) : 0;
    const bool is_slow = share < wishes_.lowest_throughput;
    slow_in_a_row_ = is_slow ? slow_in_a_row_ + 1 : 0;
    slow_ns_ = is_slow ? slow_ns_ + (window.end_ns - window.begin_ns) : 0;
    int& slow_of_arm = slow_of_arm_[window.arm];
    slow_of_arm = is_slow ? slow_of_arm + 1 : 0;
    if ((slow_in_a_row_ < kSlowInARow || slow_ns_ < kSlowNs) && slow_of_arm < kSlowOfAnArm)
      return absl::OkStatus();
    return absl::AbortedError(
        StrCat("guardrail: throughput fell to ", Percent(share), " of the undelayed one, below ",
               Percent(wishes_.lowest_throughput), ": all delays were taken away",
               window.flaw.empty() ? "" : StrCat(" (", window.flaw, ")")));
  }

  Specimen& specimen_;
  const std::vector<Group>& groups_;
  const ExperimentWishes& wishes_;
  ExperimentListener& listener_;
  ExperimentPlan plan_;
  Recording recording_;
  int slow_in_a_row_ = 0;                // windows, the last ones
  int blind_in_a_row_ = 0;               // likewise, that could not be measured
  uint64_t slow_ns_ = 0;                 // of them
  std::map<uint32_t, int> slow_of_arm_;  // the last ones of each arm
};

}  // namespace

absl::Status RunExperiment(Specimen& specimen, const std::vector<Group>& groups,
                           const ExperimentWishes& wishes, ExperimentListener& listener) {
  return Run(specimen, groups, wishes, listener).Go();
}

}  // namespace sbump
