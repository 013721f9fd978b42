#include "daemon/experiment/session_specimen.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// A process that is in a stop, or whose machine is busy, takes its time; one whose memory does not
// answer would take for ever.
constexpr auto kLongestAnswer = std::chrono::seconds(10);

// A look at a stopped process may be too long once.
constexpr int kTries = 3;
// One that is at its end takes so long to be gone, and the one that comes in its place to be there;
// what a garbage collector or a debugger keeps from being changed takes its time, too.
constexpr uint64_t kPauseNs = 50'000'000, kLongestGapNs = 5'000'000'000;
// Where each try stops those that have nothing against it.
constexpr uint64_t kPauseBetweenStopsNs = 500'000'000;

bool IsGap(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsFailedPrecondition(status);
}

template <typename T>
absl::StatusOr<T> Await(const Session& session, std::future<T> answer) {
  if (answer.wait_for(kLongestAnswer) == std::future_status::ready) return answer.get();
  return absl::DeadlineExceededError(
      StrCat("session ", session.id(), ": a process has not answered for 10 s"));
}

// A window counts for an arm only where that is in force in all processes.
absl::Status Change(Session& session, const RulesChange& change) {
  const auto answer = std::make_shared<std::promise<absl::Status>>();
  session.ChangeRules(change, [answer](const absl::StatusOr<RulesInForce>& now) {
    answer->set_value(now.ok() ? now->missed : now.status());
  });
  SB_ASSIGN_OR_RETURN(absl::Status changed, Await(session, answer->get_future()));
  return changed;
}

// Windows of a metric that is sampled have so many at least.
constexpr uint64_t kSamplesOfWindow = 10;
constexpr uint64_t kUsualIntervalNs = 100'000'000;
// Longer than reads may fail, and than there is between two that take long, so that this is said of
// a client that is silent.
constexpr uint64_t kLongestSilenceNs = 30'000'000'000;
static_assert(kLongestSilenceNs > MetricFeed::kLongestFailingNs);

void SetWork(const WindowWork& work, Window& window) {
  window.units = work.units;
  window.work_ns = work.work_ns;
  window.units_in_all = work.units_in_window;
  window.ticks = work.by_steps ? static_cast<double>(work.steps) : work.units_in_window;
}

// In place of what a unit takes the quantile of what it took. Of a high one only those count that
// lie beyond it, and as many below.
void SetLatency(const WindowLatency& latency, double quantile, Window& window) {
  constexpr double kTail = 5;
  window.units = latency.observations;
  window.work_ns = latency.value * latency.observations;
  window.units_in_all = latency.observations_in_window;
  window.ticks = latency.observations_in_window * std::min(1.0, kTail * (1 - quantile));
}

absl::Status EndOf(const Session& session, const SessionSnapshot& snapshot) {
  return absl::AbortedError(StrCat("session ", session.id(), " has ended: ",
                                   snapshot.end == nullptr ? "" : snapshot.end->reason));
}

using FunctionName = std::tuple<std::string_view, std::string_view, uint32_t>;

FunctionName NameOf(const RowInfo& row) { return {row.filename, row.qualname, row.first_line}; }

void AddFunction(const RowInfo& row, const std::vector<uint32_t>& group_of,
                 std::vector<GroupTargets>& groups) {
  const uint32_t owner = group_of[row.pattern];
  ++groups[owner].functions;
  std::set<uint32_t> others;
  for (const size_t pattern : row.matches) {
    if (pattern < group_of.size() && group_of[pattern] != owner) others.insert(group_of[pattern]);
  }
  for (const uint32_t other : others) ++groups[other].in_others[owner];
  groups[owner].hits.push_back(0);
}

std::string WhyUnmatched(const PatternCounters& pattern) {
  const std::string what = StrCat("nothing that is loaded matches \"", pattern.pattern, "\"");
  if (pattern.near_misses.empty()) return what;
  const NearMissText& nearest = pattern.near_misses.front();
  if (nearest.suggestion.empty()) return StrCat(what, ": ", nearest.reason);
  return StrCat(what, ": did you mean \"", nearest.suggestion, "\" (", nearest.reason, ")?");
}

}  // namespace

SessionSpecimen::SessionSpecimen(std::shared_ptr<Session> session, ExperimentTargets all,
                                 ExperimentTargets bare)
    : session_(std::move(session)), all_(std::move(all)), bare_(std::move(bare)) {}

void SessionSpecimen::Interrupt(absl::Status why) {
  std::lock_guard lock(mutex_);
  if (why_.ok()) why_ = std::move(why);
  interrupted_.notify_all();
  feed_.Close(why_);
}

absl::Status SessionSpecimen::Interrupted() const {
  std::lock_guard lock(mutex_);
  return why_;
}

uint64_t SessionSpecimen::NowNs() const { return MonotonicNs(); }

absl::Status SessionSpecimen::Switch(const Arm& arm) {
  const bool bare = arm.kind == ArmKind::kUnprobed;
  auto now = std::make_shared<ArmInForce>(*all_.rules.arm);
  now->delay_ns = arm.delay_ns;
  now->every = arm.every;
  RulesChange change = {.arm = std::move(now)};
  if (bare != is_bare_) {
    const TargetRules& rules = bare ? bare_.rules : all_.rules;
    change.targets = rules.targets;
    change.natives = rules.natives;
    change.modules = rules.modules;
  }
  // The way back to full speed is not cut off.
  if (arm.kind != ArmKind::kSham) SB_RETURN_IF_ERROR(Interrupted());
  SB_RETURN_IF_ERROR(ChangeInAll(change));
  is_bare_ = bare;
  return absl::OkStatus();
}

absl::Status SessionSpecimen::ChangeInAll(const RulesChange& change) {
  const uint64_t give_up_ns = NowNs() + kLongestGapNs;
  const uint64_t pause_ns = change.targets == nullptr ? kPauseNs : kPauseBetweenStopsNs;
  for (int tries = 1;; ++tries) {
    const absl::Status status = Change(*session_, change);
    if (status.ok()) return status;
    const bool is_gap = IsGap(status);
    // A session that is at its end says why, to whoever waits.
    SB_RETURN_IF_ERROR(is_gap ? WaitUntil(NowNs() + pause_ns) : Interrupted());
    if (tries >= kTries && (!is_gap || NowNs() >= give_up_ns))
      return Annotate(status, "delays could not be switched in all processes");
  }
}

absl::Status SessionSpecimen::WaitUntil(uint64_t at_ns) {
  const std::chrono::steady_clock::time_point at{std::chrono::nanoseconds(at_ns)};
  std::unique_lock lock(mutex_);
  interrupted_.wait_until(lock, at, [this] { return !why_.ok(); });
  return why_;
}

absl::StatusOr<std::shared_ptr<const SessionSnapshot>> SessionSpecimen::Look() {
  SB_RETURN_IF_ERROR(Interrupted());
  using Taken = std::shared_ptr<const SessionSnapshot>;
  const auto answer = std::make_shared<std::promise<Taken>>();
  session_->Refresh([answer](Taken taken) { answer->set_value(std::move(taken)); });
  SB_ASSIGN_OR_RETURN(const Taken snapshot, Await(*session_, answer->get_future()));
  if (snapshot->state == SessionState::kEnded) return EndOf(*session_, *snapshot);
  return snapshot;
}

absl::StatusOr<Mark> SessionSpecimen::TakeMark() {
  SB_ASSIGN_OR_RETURN(const auto snapshot, Look());
  Mark mark;
  for (const auto& process : snapshot->processes) {
    if (process->state != SessionState::kAttaching) mark.push_back(MarkOf(*process));
  }
  return mark;
}

absl::StatusOr<std::vector<GroupTargets>> SessionSpecimen::FindTargets() {
  SB_ASSIGN_OR_RETURN(const auto snapshot, Look());
  const ExperimentTargets& targets = in_force();
  std::vector<GroupTargets> found(all_.rules.arm->delay_ns.size());
  // Once each, in however many processes: its group, and its place there.
  std::map<FunctionName, std::pair<uint32_t, size_t>> seen;
  for (const auto& process : snapshot->processes) {
    for (size_t i = 0; i < process->rows.size(); ++i) {
      const RowInfo& row = *process->rows[i];
      if (row.pattern >= targets.group_of.size()) continue;
      const uint32_t owner = targets.group_of[row.pattern];
      const auto [known, is_new] = seen.try_emplace(NameOf(row), owner, found[owner].hits.size());
      if (is_new) AddFunction(row, targets.group_of, found);
      found[known->second.first].hits[known->second.second] += process->counters[i].calls;
    }
  }
  const size_t patterns = std::min(targets.group_of.size(), snapshot->patterns.size());
  for (size_t i = 0; i < patterns; ++i) {
    const PatternCounters& pattern = snapshot->patterns[i];
    if (pattern.rows == 0) found[targets.group_of[i]].unmatched.push_back(WhyUnmatched(pattern));
  }
  return found;
}

uint64_t SessionSpecimen::ShortestWindowNs() const {
  if (all_.metric) return 0;
  return kSamplesOfWindow * feed_.interval_ns().value_or(kUsualIntervalNs);
}

absl::Status SessionSpecimen::AddWork(Window& window) {
  if (all_.metric) return absl::OkStatus();
  SB_ASSIGN_OR_RETURN(const std::vector<MetricSample> samples,
                      feed_.Await(window.begin_ns, window.end_ns, NowNs() + kLongestSilenceNs));
  absl::Status status;
  if (all_.quantile > 0) {
    const auto latency = LatencyIn(samples, window.begin_ns, window.end_ns, all_.quantile);
    status = latency.status();
    if (latency.ok()) TakeLatency(*latency, window);
  } else {
    const auto work = WorkIn(samples, window.begin_ns, window.end_ns);
    status = work.status();
    if (work.ok()) SetWork(*work, window);
  }
  window.flaw = ToStd(status.message());
  window.stood_still = absl::IsNotFound(status) || absl::IsOutOfRange(status);
  return absl::OkStatus();
}

void SessionSpecimen::TakeLatency(const WindowLatency& latency, Window& window) {
  SetLatency(latency, all_.quantile, window);
  last_bucket_ = {.lower_ns = latency.lower, .upper_ns = latency.upper};
}

ProcessMark SessionSpecimen::MarkOf(const Snapshot& process) const {
  const ExperimentTargets& targets = in_force();
  const uint64_t until_ns = process.measured_until_ns();
  ProcessMark mark = {.number = process.number,
                      .at_ns = until_ns,
                      .since_ns = until_ns - std::min(until_ns, process.times.active_ns)};
  mark.groups.resize(all_.rules.arm->delay_ns.size());
  for (size_t i = 0; i < process.rows.size(); ++i) {
    const RowInfo& row = *process.rows[i];
    const RowCounters& counters = process.counters[i];
    if (row.pattern >= targets.group_of.size()) continue;
    GroupFigures& group = mark.groups[targets.group_of[row.pattern]];
    const uint64_t hits_cost_ns = counters.delayed_calls * HitCostNs(process, row);
    group.hits += counters.calls;
    group.delayed_hits += counters.delayed_calls;
    group.injected_ns +=
        counters.injected_delay_ns - std::min(counters.injected_delay_ns, hits_cost_ns);
    if (targets.metric && std::ranges::count(row.matches, *targets.metric) != 0) {
      mark.units += counters.calls;
      mark.last_unit_ns = std::max(mark.last_unit_ns, counters.last_hit_ns);
    }
  }
  return mark;
}

}  // namespace sbump
