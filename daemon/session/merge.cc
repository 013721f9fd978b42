#include "daemon/session/merge.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/base/str_cat.h"
#include "daemon/session/row_counters.h"
#include "daemon/stats/histogram.h"

namespace sbump {
namespace {

constexpr size_t kMostWarnings = 100;

bool NeverActive(const Snapshot& process) {
  return process.end != nullptr ? process.end->failed : process.state == SessionState::kAttaching;
}

// One pattern over all processes.
class PatternSum {
 public:
  void Add(const PatternCounters& one) {
    if (sum_.pattern.empty()) {
      sum_.pattern = one.pattern;
      sum_.near_misses = one.near_misses;
    }
    sum_.delay_ns = one.delay_ns;
    sum_.every = one.every;
    sum_.rows += one.rows;
    sum_.calls += one.calls;
    Accumulate(sum_.total, one.total);
    if (one.overshoot != nullptr) overshoot_.Add(*one.overshoot);
    ambiguous_ |= one.status == PatternStatus::kAmbiguous;
    gone_ |= one.status == PatternStatus::kGone;
  }

  PatternCounters Take() {
    sum_.status = ambiguous_                ? PatternStatus::kAmbiguous
                  : sum_.rows == 0 && gone_ ? PatternStatus::kGone
                                            : StatusOf(sum_.rows, sum_.calls);
    if (sum_.rows != 0) sum_.near_misses.clear();
    sum_.total.overshoot = overshoot_.Percentiles();
    return std::move(sum_);
  }

 private:
  PatternCounters sum_;
  OvershootHistogram overshoot_;
  bool ambiguous_ = false;
  bool gone_ = false;
};

using Processes = std::vector<const Snapshot*>;

// All processes have the patterns of the session, in its order; one that has yet to be told of a
// change is left out until it is.
std::vector<PatternCounters> MergePatterns(const Processes& processes) {
  if (processes.empty()) return {};
  if (processes.size() == 1) return processes.front()->patterns;
  const std::vector<PatternCounters>& newest = processes.back()->patterns;
  std::vector<PatternSum> sums(newest.size());
  for (const Snapshot* process : processes) {
    if (process->patterns.size() != newest.size()) continue;
    for (size_t i = 0; i < newest.size(); ++i) {
      if (process->patterns[i].pattern == newest[i].pattern) sums[i].Add(process->patterns[i]);
    }
  }
  std::vector<PatternCounters> merged;
  for (PatternSum& sum : sums) merged.push_back(sum.Take());
  return merged;
}

SessionTimes MergeTimes(const Processes& processes) {
  SessionTimes merged;
  for (const Snapshot* process : processes) {
    const SessionTimes& times = process->times;
    merged.attach_ns = std::max(merged.attach_ns, times.attach_ns);
    merged.active_ns = std::max(merged.active_ns, times.active_ns);
    merged.detach_ns = std::max(merged.detach_ns, times.detach_ns);
    merged.longest_stop_ns = std::max(merged.longest_stop_ns, times.longest_stop_ns);
    merged.stopped_ns += times.stopped_ns;
    merged.stops += times.stops;
    merged.holds += times.holds;
    merged.hold_p50_ns = std::max(merged.hold_p50_ns, times.hold_p50_ns);
    merged.hold_max_ns = std::max(merged.hold_max_ns, times.hold_max_ns);
    merged.hold_timeouts += times.hold_timeouts;
  }
  return merged;
}

void AddSkipped(const std::vector<SkippedCount>& more, std::vector<SkippedCount>& merged) {
  for (const SkippedCount& one : more) {
    const auto same = std::find_if(merged.begin(), merged.end(),
                                   [&](const auto& other) { return other.reason == one.reason; });
    if (same == merged.end())
      merged.push_back(one);
    else
      same->count += one.count;
  }
}

void AddWarning(std::string text, std::vector<std::string>& warnings) {
  if (warnings.size() < kMostWarnings &&
      std::find(warnings.begin(), warnings.end(), text) == warnings.end()) {
    warnings.push_back(std::move(text));
  }
}

}  // namespace

void MergeProcesses(SessionSnapshot& merged) {
  Processes active;
  const bool several = merged.processes.size() > 1;
  for (const auto& process : merged.processes) {
    if (NeverActive(*process)) {
      if (several && process->end != nullptr)
        AddWarning(StrCat("not attached: ", process->end->reason), merged.warnings);
      continue;
    }
    active.push_back(process.get());
    AddSkipped(process->skipped, merged.skipped);
    for (const std::string& warning : process->warnings) {
      AddWarning(several ? StrCat("pid ", process->process.pid, ": ", warning) : warning,
                 merged.warnings);
    }
    merged.inexact |= process->inexact;
    merged.missed_calls += process->missed_calls;
    merged.delay_ns = process->delay_ns;
    merged.trap_cost_ns = process->trap_cost_ns;
  }
  merged.patterns = MergePatterns(active);
  merged.times = MergeTimes(active);
}

SessionEnd MergeEnds(const std::vector<std::shared_ptr<const Snapshot>>& processes,
                     std::string reason) {
  SessionEnd merged{.reason = std::move(reason), .proof = {}, .no_hits = true, .no_match = true};
  size_t read_back = 0, all = 0;
  for (const auto& process : processes) {
    if (process->end == nullptr || process->end->failed) continue;
    const SessionEnd& end = *process->end;
    merged.no_hits &= end.no_hits;
    merged.no_match &= end.no_match;
    merged.proof.links_left += end.proof.links_left;
    merged.proof.fields_left += end.proof.fields_left;
    merged.proof.text_bytes_changed += end.proof.text_bytes_changed;
    merged.proof.verified |= end.proof.verified;
    merged.proof.copies_disarmed += end.proof.copies_disarmed;
    merged.proof.detail = end.proof.detail;
    ++all;
    read_back += end.proof.verified ? 1 : 0;
  }
  if (all > 1) {
    merged.proof.detail = StrCat(read_back, " processes read back");
    if (read_back < all)
      merged.proof.detail += StrCat("; ", all - read_back, " had ended or called exec");
    if (const uint32_t copies = merged.proof.copies_disarmed; copies != 0)
      merged.proof.detail += StrCat("; ", copies, " that they forked disarmed, too");
  }
  return merged;
}

RulesInForce InForce(const Snapshot& process) {
  RulesInForce now;
  now.rows = std::count_if(process.rows.begin(), process.rows.end(),
                           [](const auto& row) { return row->pattern != kNoPattern; });
  std::copy_if(process.patterns.begin(), process.patterns.end(), std::back_inserter(now.unmatched),
               [](const auto& one) { return one.status == PatternStatus::kNoMatch; });
  return now;
}

void AddInForce(RulesInForce more, bool is_first, RulesInForce& sum) {
  if (is_first) {
    sum = std::move(more);
    return;
  }
  sum.rows += more.rows;
  for (std::string& warning : more.warnings) AddWarning(std::move(warning), sum.warnings);
  std::set<std::string_view> unmatched;
  for (const PatternCounters& one : more.unmatched) unmatched.insert(one.pattern);
  std::erase_if(sum.unmatched, [&](const auto& one) { return !unmatched.contains(one.pattern); });
}

uint64_t MeasuredUntilNs(const std::vector<std::shared_ptr<const Snapshot>>& processes) {
  uint64_t until_ns = 0;
  for (const auto& process : processes) {
    if (!NeverActive(*process)) until_ns = std::max(until_ns, process->measured_until_ns());
  }
  return until_ns;
}

}  // namespace sbump
