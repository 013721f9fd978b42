// An attachment as a snapshot: the reading half of attachment.h.
#include <poll.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "daemon/attach/skip_text.h"
#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/session/attachment.h"
#include "daemon/session/row_counters.h"

namespace sbump {
namespace {

constexpr size_t kMostNamesWhileActive = 20'000;
constexpr uint32_t kRowsBetweenAnswers = 256;
constexpr uint64_t kLongestExplanationNs = 500'000'000;

}  // namespace

void Attachment::DescribeRows(Snapshot& snapshot) {
  const Rows& rows = inventory_.rows();  // threads that are answered meanwhile add to it
  // To grow them would move tens of thousands at once, with a thread waiting.
  snapshot.rows.reserve(rows.size());
  snapshot.counters.reserve(rows.size());
  for (uint32_t row = 0; row < rows.size(); ++row) {
    if (row % kRowsBetweenAnswers == 0) HandleEvents();
    snapshot.rows.push_back(rows[row]);
    RowCounters counters =
        row < slots_published_ ? CountersOf(programs_->slot(row)) : RowCounters{};
    counters.code_objects = inventory_.live_code_objects(row);
    counters.blocked = inventory_.blocked(row);
    counters.missed_calls = inventory_.missed_calls(row);
    snapshot.inexact |= counters.missed_calls != 0 || !counters.blocked.empty();
    snapshot.counters.push_back(std::move(counters));
  }
}

// ---- Why a pattern matched nothing ----

// On a thread of its own, with copies: this one has threads of the process to answer.
void Attachment::ExplainMeanwhile() {
  if (explaining_.valid()) {
    if (explaining_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    Explanations explained = explaining_.get();
    if (explaining_targets_ == rules_.targets) explanations_.merge(explained);
  }
  std::vector<size_t> patterns = Unmatched(inventory_);
  std::erase_if(patterns, [this](size_t i) { return explanations_.count(i) != 0; });
  if (patterns.empty()) return;
  auto names = std::make_shared<NamesToExplain>();
  for (RemoteAddr addr : KnownAddresses(kMostNamesWhileActive)) {
    if (names->size() % kRowsBetweenAnswers == 0) HandleEvents();
    // Those that are answered meanwhile may be the last of it.
    if (const KnownCode* code = inventory_.Find(addr)) names->Add(inventory_.NameOf(*code));
  }
  explaining_targets_ = rules_.targets;
  try {
    explaining_ = std::async(std::launch::async, [names, patterns, targets = rules_.targets] {
      const sched_param ordinary{};
      pthread_setschedparam(pthread_self(), SCHED_OTHER, &ordinary);
      return names->Explain(*targets, patterns);
    });
  } catch (const std::system_error&) {  // no thread to be had: at the end, then
  }
}

// For the answer to a change. Threads of the process are answered meanwhile; what takes longer is
// told with the figures.
void Attachment::ExplainChange() {
  const uint64_t give_up_ns = MonotonicNs() + kLongestExplanationNs;
  ExplainMeanwhile();
  while (explaining_.valid() && MonotonicNs() < give_up_ns) {
    pollfd events = {.fd = event_fd(), .events = POLLIN, .revents = 0};
    poll(&events, 1, /*timeout_ms=*/1);
    HandleEvents();
    ExplainMeanwhile();
  }
}

void Attachment::ExplainNow() {
  if (explaining_.valid()) explaining_.wait();
  explanations_ = ExplainUnmatched(inventory_);
}

// ---- The snapshot ----

void Attachment::DescribePatterns(Snapshot& snapshot) {
  const std::vector<Pattern>& patterns = inventory_.targets().patterns();
  std::unordered_map<size_t, OvershootHistogram> overshoot;
  std::vector<uint64_t> calls(patterns.size());
  snapshot.patterns.resize(patterns.size());
  for (uint32_t row = 0; row < snapshot.rows.size(); ++row) {
    if (row % kRowsBetweenAnswers == 0) HandleEvents();
    const size_t owner = snapshot.rows[row]->pattern;
    if (owner == kNoPattern) continue;
    Accumulate(snapshot.patterns[owner].total, snapshot.counters[row]);
    if (snapshot.counters[row].calls == 0) continue;
    overshoot[owner].Add(programs_->slot(row).overshoot);
    for (size_t i : snapshot.rows[row]->matches) calls[i] += snapshot.counters[row].calls;
  }
  for (size_t i = 0; i < patterns.size(); ++i) {
    PatternCounters& pattern = snapshot.patterns[i];
    pattern.pattern = patterns[i].text;
    pattern.rows = inventory_.rows_matched_by(i);
    pattern.calls = calls[i];
    pattern.status =
        inventory_.ambiguous(i) ? PatternStatus::kAmbiguous : StatusOf(pattern.rows, calls[i]);
    if (const auto found = overshoot.find(i); found != overshoot.end()) {
      pattern.total.overshoot = found->second.Percentiles();
      for (size_t b = 0; b < snapshot.overshoot_buckets.size(); ++b)
        snapshot.overshoot_buckets[b] += found->second.buckets()[b];
      pattern.overshoot = std::make_shared<const OvershootHistogram>(found->second);
    }
    const Dose dose = rules_.DoseOf(i);
    pattern.delay_ns = DelayInForce(dose.delay_ns, spec_.trap_costs.emulated_ns);
    pattern.every = dose.every;
    const auto explained = explanations_.find(i);
    if (pattern.status == PatternStatus::kNoMatch && explained != explanations_.end()) {
      pattern.near_misses = explained->second;
    }
  }
}

// What another program of the process meets at our probes, until they are gone, says nothing.
std::array<uint64_t, SB_SKIP_REASONS> Attachment::SkippedUntilExec() {
  const auto now = programs_->skipped();
  if (now != skipped_ && !Execed()) skipped_ = now;
  return skipped_;
}

void Attachment::DescribeSkipped(Snapshot& snapshot) {
  snapshot.skipped = own_skips_;
  const auto counts = SkippedUntilExec();
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) {
      snapshot.skipped.push_back({std::string(SkipReasonText(static_cast<sb_skip>(i))), counts[i]});
    }
  }
  snapshot.times.hold_timeouts = counts[SB_SKIP_HOLD_TIMEOUT];
  snapshot.missed_calls = unattributed_calls_ + counts[SB_SKIP_PENDING_FULL] +
                          counts[SB_SKIP_UNREADABLE] + counts[SB_SKIP_NOT_CODE] +
                          counts[SB_SKIP_UNKNOWN_SITE] + counts[SB_SKIP_INTRODUCTION_LOST];
  snapshot.inexact |= snapshot.missed_calls != 0 || counts[SB_SKIP_RING_FULL] != 0;
  if (inventory_.without_row() != 0) {
    snapshot.skipped.push_back(
        {StrCat("matching code objects beyond the first ", inventory_.rows().size(), " targets"),
         inventory_.without_row()});
    snapshot.inexact = true;
  }
  snapshot.inexact |= !own_skips_.empty();
}

ProcessInfo Attachment::DescribeOwnProcess() const {
  if (HasPython()) return DescribeProcess(process_, interpreter_, exe_);
  if (modules_.interpreter() == nullptr) return DescribeNativeProcess(process_, exe_);
  ProcessInfo process = DescribeProcess(process_, *modules_.interpreter(), exe_);
  process.strategy = "calls of modules only";
  return process;
}

void Attachment::Describe(Snapshot& snapshot) {
  TakeSlept();
  snapshot.process = DescribeOwnProcess();
  snapshot.times = times_;
  // The median is known to a bucket, the maximum exactly.
  snapshot.times.hold_p50_ns = std::min(hold_times_.MedianNs(), times_.hold_max_ns);
  snapshot.delay_ns = DelayInForce(rules_.dose.delay_ns, spec_.trap_costs.emulated_ns);
  snapshot.trap_cost_ns = TrapCostNs();
  snapshot.warnings = warnings_;
  snapshot.warnings.insert(snapshot.warnings.end(), dose_warnings_.begin(), dose_warnings_.end());
  DescribeRows(snapshot);
  DescribePatterns(snapshot);
  natives_.Describe(rules_, *programs_, snapshot);
  modules_.Describe(rules_, *programs_, snapshot);
  DescribeSkipped(snapshot);
}

}  // namespace sbump
