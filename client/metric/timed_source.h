// What all sources have in common: times, totals that only rise, notes that are said once.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/metric/metric_source.h"
#include "client/metric/rising_totals.h"
#include "client/metric/stop_signal.h"

namespace sbump {

// What a source found.
struct Reading {
  double value = 0;
  std::vector<MetricBucket> buckets;
  // What the value is made of, by name; "" is the value itself.
  std::map<std::string, double> totals;
  std::vector<std::string> notes;
};

class TimedSource : public MetricSource {
 public:
  explicit TimedSource(std::string text) : text_(std::move(text)) {}

  absl::StatusOr<MetricSample> Read() final;
  void Cancel() final { stop_.Set(); }
  const std::string& text() const final { return text_; }

 protected:
  // kAborted: the total begins again. Errors do not repeat text().
  virtual absl::StatusOr<Reading> Take() = 0;
  const StopSignal& stop() const { return stop_; }

 private:
  absl::StatusOr<Reading> TakeAndCheck();
  std::vector<std::string> NotSaidYet(std::vector<std::string> notes);

  const std::string text_;
  StopSignal stop_;
  RisingTotals totals_;
  std::set<std::string> said_;
};

}  // namespace sbump
