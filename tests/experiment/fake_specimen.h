// A service whose times are known: a unit of work takes `unit_ns`, and longer by what its groups'
// delays do. Its clock moves only where somebody waits.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "daemon/experiment/specimen.h"

namespace sbump {

struct FakeGroup {
  double hits_per_unit = 1;
  // What the time that is injected into one unit costs that unit.
  std::function<double(double injected_ns)> cost = [](double injected_ns) { return injected_ns; };
};

class FakeSpecimen : public Specimen {
 public:
  FakeSpecimen(double unit_ns, std::vector<FakeGroup> groups)
      : unit_ns_(unit_ns), groups_(std::move(groups)), delay_ns_(groups_.size()) {
    process_.groups.resize(groups_.size());
  }

  uint64_t NowNs() const override { return now_ns_; }

  absl::Status Switch(const Arm& arm) override {
    switches_.push_back(arm);
    if (fails_at_switch && switches_.size() == *fails_at_switch)
      return absl::AbortedError("the session has ended");
    delay_ns_ = arm.delay_ns;
    every_ = arm.every;
    return absl::OkStatus();
  }

  absl::StatusOr<Mark> TakeMark() override {
    process_.at_ns = now_ns_;
    Mark mark(processes, process_);
    for (size_t i = 0; i < processes; ++i) mark[i].number = i;
    for (const ProcessMark& one : ended) {
      mark.push_back(one);
      mark.back().groups.resize(groups_.size());
    }
    return mark;
  }

  absl::Status WaitUntil(uint64_t at_ns) override {
    while (true) {
      const double took_ns = UnitNs();
      if (next_unit_ns_ + took_ns > static_cast<double>(at_ns)) break;
      next_unit_ns_ += took_ns;
      Count();
    }
    now_ns_ = std::max(now_ns_, at_ns);
    return now_ns_ >= ends_at_ns ? absl::AbortedError("the session has ended") : absl::OkStatus();
  }

  absl::Status AddWork(Window& window) override {
    if (on_work) on_work(switches_.back(), window);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<GroupTargets>> FindTargets() override { return targets; }

  std::optional<LatencyBucket> LastBucket() const override { return bucket; }

  uint64_t ShortestWindowNs() const override { return shortest_window_ns; }

  // Of a processor that is always wanted.
  ProcessorTime MachineTime() const override {
    return {.wanted_ns = now_ns_,
            .stolen_ns = static_cast<uint64_t>(stolen * static_cast<double>(now_ns_))};
  }

  const std::vector<Arm>& switches() const { return switches_; }

  // Of the unit that it is at when it is first looked at.
  void HasDone(double ns) { next_unit_ns_ -= ns; }

  size_t processes = 1;            // that all do the same
  std::vector<ProcessMark> ended;  // before, besides
  std::optional<size_t> fails_at_switch;
  uint64_t ends_at_ns = UINT64_MAX;
  double noise = 0;  // standard deviation of a unit's time, as a share of it
  bool works = true;
  double slowness = 1;
  double stolen = 0;
  uint64_t shortest_window_ns = 0;
  std::optional<LatencyBucket> bucket;
  std::vector<GroupTargets> targets;
  // What cannot be measured of a window of this arm.
  std::function<void(const Arm& arm, Window& window)> on_work;

 private:
  double UnitNs() {
    if (!works) return 1e18;
    double took_ns = unit_ns_ * slowness;
    for (size_t i = 0; i < groups_.size(); ++i)
      took_ns +=
          groups_[i].cost(groups_[i].hits_per_unit * static_cast<double>(delay_ns_[i]) / Every(i));
    return took_ns * std::max(0.1, 1 + noise * normal_(random_));
  }

  uint32_t Every(size_t group) const { return every_.empty() ? 1 : every_[group]; }

  void Count() {
    ++process_.units;
    process_.last_unit_ns = static_cast<uint64_t>(next_unit_ns_);
    for (size_t i = 0; i < groups_.size(); ++i) {
      owed_hits_[i] += groups_[i].hits_per_unit;
      const auto hits = static_cast<uint64_t>(owed_hits_[i]);
      owed_hits_[i] -= static_cast<double>(hits);
      process_.groups[i].hits += hits;
      if (delay_ns_[i] == 0) continue;
      process_.groups[i].delayed_hits += hits / Every(i);
      process_.groups[i].injected_ns += hits * delay_ns_[i] / Every(i);
    }
  }

  const double unit_ns_;
  const std::vector<FakeGroup> groups_;
  std::vector<uint64_t> delay_ns_;
  std::vector<uint32_t> every_;
  std::vector<double> owed_hits_ = std::vector<double>(groups_.size());
  std::vector<Arm> switches_;
  ProcessMark process_;
  uint64_t now_ns_ = 1'000'000'000;
  double next_unit_ns_ = 1'000'000'000;
  std::mt19937_64 random_{1};
  std::normal_distribution<double> normal_;
};

}  // namespace sbump
