#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/experiment/experiment.h"
#include "tests/experiment/fake_specimen.h"

namespace sbump {

inline constexpr double kUnitNs = 1e6;

// Keeps what an experiment tells.
class Told : public ExperimentListener {
 public:
  void OnProgress(const ExperimentProgress& told) override { progress = told; }
  void OnWindow(ExperimentPhase phase, const Window& window) override {
    windows.push_back(window);
    if (phase == ExperimentPhase::kMain) ++main_windows;
    if (on_window) on_window();
  }
  absl::StatusOr<bool> OnPlan(const ExperimentPlan& told) override {
    plan = told;
    return wants_it;
  }
  void OnAnswer(const ExperimentAnswer& told) override { answer = told; }

  const GroupEstimate& Of(const std::string& name) const {
    for (const GroupEstimate& group : answer->estimate.groups) {
      if (group.name == name) return group;
    }
    ADD_FAILURE() << "no group " << name;
    return answer->estimate.groups.front();
  }

  bool wants_it = true;
  std::function<void()> on_window;
  ExperimentProgress progress;
  std::vector<Window> windows;
  size_t main_windows = 0;
  std::optional<ExperimentPlan> plan;
  std::optional<ExperimentAnswer> answer;
};

inline const std::vector<Group> kGroups = {
    {"critical"}, {"hidden"}, {"the metric's own function", GroupRole::kPositiveControl}};

inline ExperimentWishes Wishes() {
  return {
      .budget_ns = 120'000'000'000, .fills_budget = true, .most_delay_ns = 10'000'000, .seed = 7};
}

inline FakeSpecimen Service(double noise) {
  FakeSpecimen service(
      kUnitNs, {FakeGroup{.hits_per_unit = 2},
                FakeGroup{.hits_per_unit = 5, .cost = [](double) { return 0.0; }}, FakeGroup{}});
  service.noise = noise;
  return service;
}

}  // namespace sbump
