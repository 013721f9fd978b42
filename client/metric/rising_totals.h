// Sees whether totals only rise.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"

namespace sbump {

// Of one source. Its parts (a pool's workers, a histogram's buckets) are looked at one by one: that
// one worker began again is not seen in a sum that others raise.
class RisingTotals {
 public:
  // `totals`: by the part's name. A part that is new counts from 0. kAborted: one fell or is gone;
  // then what is compared with next is `totals`. kDataLoss: one is not finite; nothing is kept.
  absl::Status Admit(std::map<std::string, double> totals);
  // What was summed from now on says nothing about what was summed before.
  void BeginAgain() { ++epoch_; }
  uint32_t epoch() const { return epoch_; }

 private:
  absl::Status Compare(const std::map<std::string, double>& totals) const;

  std::map<std::string, double> totals_;
  uint32_t epoch_ = 0;
};

}  // namespace sbump
