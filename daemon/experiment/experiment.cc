#include "daemon/experiment/experiment.h"

#include <optional>

#include "daemon/experiment/block_run.h"
#include "daemon/experiment/pilot.h"
#include "daemon/experiment/throughput_guard.h"

namespace sbump {
namespace {

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
    guard_.emplace(wishes_.lowest_throughput, plan_.unit_ns);
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
    return guard_->Check(window, plan_.arms[window.arm].kind == ArmKind::kDose);
  }

  Specimen& specimen_;
  const std::vector<Group>& groups_;
  const ExperimentWishes& wishes_;
  ExperimentListener& listener_;
  ExperimentPlan plan_;
  Recording recording_;
  std::optional<ThroughputGuard> guard_;
};

}  // namespace

absl::Status RunExperiment(Specimen& specimen, const std::vector<Group>& groups,
                           const ExperimentWishes& wishes, ExperimentListener& listener) {
  return Run(specimen, groups, wishes, listener).Go();
}

}  // namespace sbump
