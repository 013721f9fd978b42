// An attachment as a snapshot: the reading half of attachment.h.
#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/near_miss.h"
#include "daemon/session/attachment.h"

namespace sbump {
namespace {

// Explaining costs a pass over names: only for the first few patterns that match nothing. While the
// session is active a pass must stay well below the time that a thread of the target may be held (5
// ms).
constexpr size_t kMostExplained = 20;
constexpr size_t kMostNamesWhileActive = 8000;
constexpr uint32_t kRowsBetweenAnswers = 256;

RowCounters CountersOf(const sb_slot& slot) {
  RowCounters counters;
  counters.calls = __atomic_load_n(&slot.calls, __ATOMIC_RELAXED);
  counters.delayed_calls = __atomic_load_n(&slot.delayed_calls, __ATOMIC_RELAXED);
  counters.requested_delay_ns = __atomic_load_n(&slot.requested_delay_ns, __ATOMIC_RELAXED);
  counters.injected_delay_ns = __atomic_load_n(&slot.injected_delay_ns, __ATOMIC_RELAXED);
  counters.threads_seen = __atomic_load_n(&slot.threads_seen, __ATOMIC_RELAXED);
  counters.first_hit_ns = slot.first_hit_ns;
  counters.last_hit_ns = slot.last_hit_ns;
  OvershootHistogram overshoot;
  overshoot.Add(slot.overshoot);
  counters.overshoot = overshoot.Percentiles();
  return counters;
}

void Accumulate(RowCounters& total, const RowCounters& row) {
  total.calls += row.calls;
  total.delayed_calls += row.delayed_calls;
  total.requested_delay_ns += row.requested_delay_ns;
  total.injected_delay_ns += row.injected_delay_ns;
  total.missed_calls += row.missed_calls;
}

PatternStatus StatusOf(uint64_t rows, uint64_t calls, bool ambiguous) {
  if (ambiguous) return PatternStatus::kAmbiguous;
  if (rows == 0) return PatternStatus::kNoMatch;
  return calls == 0 ? PatternStatus::kNoCalls : PatternStatus::kMatched;
}

}  // namespace

void Attachment::Skip(const std::string& reason, uint64_t count) {
  for (SkippedCount& skip : own_skips_) {
    if (skip.reason == reason) {
      skip.count += count;
      return;
    }
  }
  if (own_skips_.size() < 100) own_skips_.push_back({reason, count});
}

void Attachment::DescribeRows(Snapshot& snapshot) {
  snapshot.rows = inventory_.rows();
  for (uint32_t row = 0; row < snapshot.rows.size(); ++row) {
    if (row % kRowsBetweenAnswers == 0) HandleEvents();
    RowCounters counters =
        row < slots_published_ ? CountersOf(programs_->slot(row)) : RowCounters{};
    counters.code_objects = inventory_.live_code_objects(row);
    counters.blocked = inventory_.blocked(row);
    snapshot.counters.push_back(std::move(counters));
  }
}

std::vector<NearMissText> Attachment::Explain(size_t pattern, size_t most_names) const {
  std::vector<CodeName> names;
  for (const Inventory::NameView& name : inventory_.Names(most_names)) {
    names.push_back({name.filename, *name.module_names, name.qualname});
  }
  const NearMissReport report = ExplainNoMatch(inventory_.targets().patterns()[pattern], names,
                                               inventory_.targets().paths_only());
  std::vector<NearMissText> texts;
  for (const NearMiss& miss : report.suggestions) texts.push_back({miss.Text(), miss.reason});
  if (texts.empty()) texts.push_back({"", report.why});
  return texts;
}

void Attachment::ExplainOnePattern() {
  const size_t count = inventory_.targets().patterns().size();
  for (size_t i = 0; i < count && explanations_.size() < kMostExplained; ++i) {
    if (inventory_.rows_matched_by(i) != 0 || explanations_.count(i) != 0) continue;
    explanations_[i] = Explain(i, kMostNamesWhileActive);
    return;
  }
}

void Attachment::ExplainAllPatterns() {
  explanations_.clear();
  const size_t count = inventory_.targets().patterns().size();
  for (size_t i = 0; i < count && explanations_.size() < kMostExplained; ++i) {
    if (inventory_.rows_matched_by(i) == 0) explanations_[i] = Explain(i, kMaxNearMissInventory);
  }
}

void Attachment::DescribePatterns(Snapshot& snapshot) {
  const std::vector<Pattern>& patterns = inventory_.targets().patterns();
  std::unordered_map<size_t, OvershootHistogram> overshoot;
  std::vector<uint64_t> calls(patterns.size());
  snapshot.patterns.resize(patterns.size());
  for (uint32_t row = 0; row < snapshot.rows.size(); ++row) {
    if (row % kRowsBetweenAnswers == 0) HandleEvents();
    const size_t owner = snapshot.rows[row]->pattern;
    if (owner >= patterns.size()) continue;  // of targets that were replaced
    Accumulate(snapshot.patterns[owner].total, snapshot.counters[row]);
    if (snapshot.counters[row].calls == 0) continue;
    overshoot[owner].Add(programs_->slot(row).overshoot);
    const RowInfo& info = *snapshot.rows[row];
    for (size_t i :
         inventory_.targets().AllMatches({info.filename, info.module_names, info.qualname})) {
      calls[i] += snapshot.counters[row].calls;
    }
  }
  for (size_t i = 0; i < patterns.size(); ++i) {
    PatternCounters& pattern = snapshot.patterns[i];
    pattern.pattern = patterns[i].text;
    pattern.rows = inventory_.rows_matched_by(i);
    pattern.status = StatusOf(pattern.rows, calls[i], inventory_.ambiguous(i));
    pattern.total.overshoot = overshoot[i].Percentiles();
    const Dose dose = rules_.DoseOf(i);
    pattern.delay_ns = dose.delay_ns;
    pattern.every = dose.every;
    const auto explained = explanations_.find(i);
    if (pattern.status == PatternStatus::kNoMatch && explained != explanations_.end()) {
      pattern.near_misses = explained->second;
    }
  }
}

void Attachment::DescribeSkipped(Snapshot& snapshot) const {
  snapshot.skipped = own_skips_;
  const auto counts = programs_->skipped();
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) {
      snapshot.skipped.push_back({std::string(SkipReasonText(static_cast<sb_skip>(i))), counts[i]});
    }
  }
  snapshot.times.hold_timeouts = counts[SB_SKIP_HOLD_TIMEOUT];
  const uint64_t missed =
      unattributed_calls_ + counts[SB_SKIP_PENDING_FULL] + counts[SB_SKIP_UNREADABLE];
  if (missed != 0) {
    snapshot.skipped.push_back({"calls that could not be attributed to any code object", missed});
    snapshot.inexact = true;
  }
  for (const SkippedCount& skip : own_skips_) snapshot.inexact |= skip.count != 0;
}

void Attachment::Describe(Snapshot& snapshot) {
  snapshot.process = {.pid = process_.pid(),
                      .start_ticks = process_.id().start_ticks,
                      .exe = exe_,
                      .python_version = ToString(interpreter_.file->version),
                      .strategy = std::string(StrategyName(interpreter_.layout().arming)),
                      .interpreter = interpreter_.path,
                      .build_id = interpreter_.file->build_id};
  snapshot.times = times_;
  snapshot.times.hold_p50_ns = hold_times_.MedianNs();
  snapshot.delay_ns = rules_.dose.delay_ns;
  snapshot.trap_cost_ns = environment_.trap_cost_ns;
  snapshot.warnings.insert(snapshot.warnings.end(), warnings_.begin(), warnings_.end());
  DescribeRows(snapshot);
  DescribePatterns(snapshot);
  DescribeSkipped(snapshot);
}

}  // namespace sbump
