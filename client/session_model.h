// What is known of one session: its updates added up. Interval updates carry only rows that
// changed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/sbump/v1/control.pb.h"

namespace sbump {

struct TargetRow {
  v1::TargetStats stats;
  double calls_per_second = 0;  // over the last interval
  uint64_t update_number = 0;   // the update that last had this row
};

class SessionModel {
 public:
  // `update` is whole (update_merger.h).
  void Apply(const v1::SessionUpdate& update);

  // The last update without its rows, with everything that earlier ones said and it did not:
  // process, times, patterns, skipped, warnings.
  const v1::SessionUpdate& head() const { return head_; }
  size_t target_count() const { return rows_.size(); }

  // At most `limit` rows, the most injected delay first, then the most calls.
  std::vector<const TargetRow*> TopRows(size_t limit) const;
  // Likewise, of the rows in the last update that were called since the one before.
  std::vector<const TargetRow*> TopRecentRows(size_t limit) const;

  // Calls per second since the session became ACTIVE.
  double MeanRate(const TargetRow& row) const;
  uint64_t active_ns() const { return head_.times().active_ns(); }

 private:
  void ApplyRow(const v1::TargetStats& stats, uint64_t elapsed_ns);
  void KeepHead(const v1::SessionUpdate& update);
  void KeepPattern(const v1::PatternStats& pattern);

  v1::SessionUpdate head_;
  std::map<std::string, TargetRow> rows_;      // by what identifies a row
  std::map<std::string, int> pattern_places_;  // in head_
  uint64_t updates_ = 0;
};

}  // namespace sbump
