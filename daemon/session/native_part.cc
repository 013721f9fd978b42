#include "daemon/session/native_part.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "daemon/attach/uprobe_link.h"
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"
#include "daemon/session/native_rows.h"
#include "daemon/session/row_counters.h"
#include "daemon/stats/histogram.h"

namespace sbump {
namespace {

static_assert(kMaxNativeTargets == SB_NATIVE_SITES);

}  // namespace

// ---- Changing the targets ----

absl::Status NativePart::Resolve(std::shared_ptr<const NativeList> patterns) {
  SB_ASSIGN_OR_RETURN(next_, ResolveNative(process_, memory_, *patterns));
  for (size_t p = 0; p < patterns->size(); ++p) {
    if (!next_.answers[p].refused.ok()) return next_.answers[p].refused;
  }
  next_patterns_ = std::move(patterns);
  return absl::OkStatus();
}

size_t NativePart::most_clean_links() const {
  return next_.targets.size() > kMostCleanSites && UprobeMultiWorks() ? 0 : kMostCleanSites;
}

size_t NativePart::RowOf(const NativeTarget& target) {
  const auto same = [&](const Row& row) {
    return row.target.device == target.device && row.target.inode == target.inode &&
           row.target.site.file_offset == target.site.file_offset;
  };
  const auto known = std::ranges::find_if(rows_, same);
  if (known != rows_.end()) return static_cast<size_t>(known - rows_.begin());
  const auto slot = static_cast<uint32_t>(SB_FIRST_NATIVE_SLOT + rows_.size());
  rows_.push_back({.target = target, .slot = slot});
  return rows_.size() - 1;
}

absl::Status NativePart::Stage(Programs& programs, LinkKeeper& keeper, Journal& journal) {
  staged_ = {.rows_before = rows_.size()};
  if (next_.targets.empty()) return absl::OkStatus();
  SB_RETURN_IF_ERROR(programs.ReserveNativeSlots());
  for (const NativeTarget& target : next_.targets) staged_.rows.push_back(RowOf(target));
  absl::Status status =
      rows_.size() > SB_SLOTS_PER_CHUNK
          ? absl::ResourceExhaustedError("the session has had too many native targets")
          : OpenMissing(programs, keeper, journal);
  if (!status.ok()) Rollback(programs);
  return status;
}

absl::Status NativePart::OpenMissing(Programs& programs, LinkKeeper& keeper, Journal& journal) {
  const bool closes_quickly = programs.closes_quickly() || next_.targets.size() > kMostCleanSites;
  const ProgramKind kind =
      closes_quickly && UprobeMultiWorks() ? ProgramKind::kNativeHitMulti : ProgramKind::kNativeHit;
  std::vector<ProbePoint> points;
  std::vector<const NativeTarget*> missing;
  std::vector<PlacedProbe> probes;
  for (const NativeTarget& target : next_.targets) {
    if (links_.count(KeyOf(target)) != 0) continue;
    SB_RETURN_IF_ERROR(programs.SetNativeSite(target.site.address, {.slot = SB_NO_SLOT}));
    points.push_back({kind, target.site.probe_path, target.site.file_offset});
    missing.push_back(&target);
    probes.push_back({target.site.address, target.device, target.inode, target.site.file_offset});
  }
  SB_RETURN_IF_ERROR(journal.WillProbe(probes));
  SB_ASSIGN_OR_RETURN(staged_.new_links, programs.OpenLinks(points, process_.pid(), keeper));
  for (size_t i = 0; i < missing.size(); ++i) links_[KeyOf(*missing[i])] = staged_.new_links[i];
  return CheckPlaced(missing);
}

// A file that was copied up or replaced under an overlay takes probes that its running image never
// sees.
absl::Status NativePart::CheckPlaced(const std::vector<const NativeTarget*>& targets) const {
  for (const NativeTarget* target : targets) {
    SB_ASSIGN_OR_RETURN(const TextState state, LookAtText(process_, memory_, *target));
    if (state == TextState::kProbed) continue;
    return absl::FailedPreconditionError(
        StrCat("pid ", process_.pid(), ": a probe on ", target->filename,
               " was accepted but does not show in the running process: the file was replaced or "
               "copied under it (an overlay file system?); restart the process, then attach"));
  }
  return absl::OkStatus();
}

void NativePart::Rollback(Programs& programs) {
  if (next_patterns_ == nullptr) return;  // nothing is staged
  programs.CloseLinks(staged_.new_links);
  for (const NativeTarget& target : next_.targets) {
    const auto link = links_.find(KeyOf(target));
    const bool is_new =
        link == links_.end() ||
        std::ranges::find(staged_.new_links, link->second) != staged_.new_links.end();
    if (!is_new) continue;
    programs.DeleteNativeSite(target.site.address);
    if (link != links_.end()) links_.erase(link);
  }
  rows_.resize(staged_.rows_before);
  Forget();
}

void NativePart::Forget() {
  staged_ = {};
  next_ = {};
  next_patterns_ = nullptr;
}

void NativePart::Commit(const TargetRules& rules, Programs& programs) {
  patterns_ = std::move(next_patterns_);
  answers_ = std::move(next_.answers);
  const size_t first_pattern = rules.targets->patterns().size();
  std::vector<bool> stays(rows_.size());
  // Where a library was, another may be now: what goes, goes first.
  for (size_t i = 0; i < next_.targets.size(); ++i) {
    const Row& row = rows_[staged_.rows[i]];
    if (row.target.site.address != next_.targets[i].site.address)
      programs.DeleteNativeSite(row.target.site.address);
  }
  for (size_t i = 0; i < next_.targets.size(); ++i) {
    Row& row = rows_[staged_.rows[i]];
    stays[staged_.rows[i]] = true;
    row.target = std::move(next_.targets[i]);
    row.info = InfoOf(row.target, trap_costs_, first_pattern);
    row.in_force = true;
    SetSite(row, row.slot, programs);
  }
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (!stays[i] && rows_[i].in_force) Retire(rows_[i], programs);
  }
  Forget();
  NoteWarnings();
}

// Its entry is there since Stage(), or before: this cannot fail for want of room.
void NativePart::SetSite(const Row& row, uint32_t slot, Programs& programs) const {
  const sb_native_site site{.slot = slot,
                            .trap_cost_ns = static_cast<uint32_t>(CostOf(row.target, trap_costs_))};
  if (const absl::Status set = programs.SetNativeSite(row.target.site.address, site); !set.ok())
    Log(LogLevel::kError, "native_site", {{"why", ToStd(set.message())}});
}

// It keeps its counters, without a pattern. The probe goes later: that takes the kernel a while.
void NativePart::Retire(Row& row, Programs& programs) {
  SetSite(row, SB_NO_SLOT, programs);
  row.in_force = false;
  auto info = std::make_shared<RowInfo>(*row.info);
  info->pattern = kNoPattern;
  info->matches.clear();
  row.info = std::move(info);
}

void NativePart::CloseRetired(Programs& programs) {
  std::vector<uint64_t> links;
  std::vector<RemoteAddr> addresses;
  for (const Row& row : rows_) {
    const auto link = links_.find(KeyOf(row.target));
    if (row.in_force || link == links_.end()) continue;
    links.push_back(link->second);
    addresses.push_back(row.target.site.address);
    links_.erase(link);
  }
  programs.CloseLinks(links);
  for (RemoteAddr address : addresses) programs.DeleteNativeSite(address);
}

void NativePart::NoteWarnings() {
  warnings_ = WarningsOf(answers_);
  if (!late_trouble_.empty()) warnings_.push_back(late_trouble_);
  for (const Row& row : rows_) {
    if (row.in_force && !row.target.site.emulated)
      warnings_.push_back(SteppedWarning(row.target, trap_costs_));
  }
  if (links_.size() > kMostCleanSites && UprobeMultiWorks()) {
    warnings_.push_back(StrCat("with more than ", kMostCleanSites,
                               " native targets a process that pid ", process_.pid(),
                               " forks meanwhile pays for their probes too, until the end"));
  }
}

void NativePart::PublishDoses(const TargetRules& rules, Programs& programs,
                              std::vector<std::string>& warnings) const {
  for (const Row& row : rows_) {
    if (!row.in_force) continue;
    const NativePattern& pattern = (*patterns_)[row.target.patterns.front()];
    const Dose dose = rules.DoseOf(pattern);
    const uint64_t in_force_ns = DelayInForce(dose.delay_ns, CostOf(row.target, trap_costs_));
    programs.slot(row.slot).delay_ns = in_force_ns;
    programs.slot(row.slot).every = dose.every;
    if (in_force_ns != dose.delay_ns) {
      warnings.push_back(StrCat("a delay of ", dose.delay_ns, "ns of ", row.target.filename, ":",
                                row.target.name, " was raised to ", in_force_ns,
                                "ns, which is what a hit costs by itself there"));
    }
  }
}

// ---- While it runs ----

// A library that a pattern waits for is there; or one was unloaded, and loaded again elsewhere.
bool NativePart::NeedsAnotherLook(Programs& programs) {
  const uint64_t unknown = programs.skipped()[SB_SKIP_UNKNOWN_SITE];
  if (std::exchange(unknown_hits_, unknown) != unknown) return true;
  for (size_t p = 0; p < patterns_->size(); ++p) {
    if (!answers_[p].mapped && IsMapped(process_, (*patterns_)[p]).value_or(false)) return true;
  }
  return false;
}

void NativePart::Tidy(const TargetRules& rules, Programs& programs, LinkKeeper& keeper,
                      Journal& journal) {
  if (patterns_->empty()) return;
  if (!looking_.valid()) {
    if (MonotonicNs() < next_look_ns_) return;
    next_look_ns_ = MonotonicNs() + look_pause_ns_;
    if (!NeedsAnotherLook(programs)) return;
    try {
      // A large library takes a while, and threads of the process may wait for this one.
      looking_ = std::async(std::launch::async, [this, patterns = patterns_] {
        const sched_param ordinary{};
        pthread_setschedparam(pthread_self(), SCHED_OTHER, &ordinary);
        return ResolveNative(process_, memory_, *patterns);
      });
    } catch (const std::system_error&) {  // no thread to be had: next time, then
    }
    return;
  }
  if (looking_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  absl::StatusOr<NativeResolution> found = looking_.get();
  if (!found.ok()) return LookAgainLater(found.status());
  if (found->answers.size() != patterns_->size()) return;
  next_ = *std::move(found);
  next_patterns_ = patterns_;
  if (const absl::Status status = Stage(programs, keeper, journal); !status.ok())
    return LookAgainLater(status);
  look_pause_ns_ = kLookEveryNs;
  late_trouble_.clear();
  Commit(rules, programs);
  CloseRetired(programs);
  std::vector<std::string> known_already;
  PublishDoses(rules, programs, known_already);
}

// What is mapped now cannot be had. It may be another time; to try costs as much as an attach.
void NativePart::LookAgainLater(const absl::Status& why) {
  look_pause_ns_ = std::min(2 * look_pause_ns_, kLongestLookPauseNs);
  next_look_ns_ = MonotonicNs() + look_pause_ns_;
  const std::string trouble =
      StrCat("native targets that were mapped later cannot be had: ", why.message());
  if (std::exchange(late_trouble_, trouble) == trouble) return;
  NoteWarnings();
  Log(LogLevel::kWarning, "native_targets_found_late",
      {{"pid", process_.pid()}, {"why", ToStd(why.message())}});
}

// ---- What is told ----

void NativePart::Describe(const TargetRules& rules, Programs& programs, Snapshot& snapshot) const {
  const size_t first_pattern = snapshot.patterns.size();
  for (const NativePattern& pattern : *patterns_) {
    snapshot.patterns.push_back({.pattern = pattern.text, .every = rules.DoseOf(pattern).every});
  }
  std::unordered_map<size_t, OvershootHistogram> overshoot;
  std::vector<uint64_t> calls(patterns_->size());
  for (const Row& row : rows_) {
    if (row.info == nullptr) continue;  // staged
    const sb_slot& slot = programs.slot(row.slot);
    snapshot.rows.push_back(row.info);
    snapshot.counters.push_back(CountersOf(slot));
    if (row.info->pattern == kNoPattern) continue;
    Accumulate(snapshot.patterns[row.info->pattern].total, snapshot.counters.back());
    overshoot[row.info->pattern - first_pattern].Add(slot.overshoot);
    for (size_t pattern : row.info->matches)
      calls[pattern - first_pattern] += snapshot.counters.back().calls;
  }
  for (size_t p = 0; p < patterns_->size(); ++p) {
    PatternCounters& counters = snapshot.patterns[first_pattern + p];
    counters.rows = answers_[p].targets;
    counters.calls = calls[p];
    counters.status = StatusOf(counters.rows, calls[p]);
    if (const auto found = overshoot.find(p); found != overshoot.end()) {
      counters.total.overshoot = found->second.Percentiles();
      counters.overshoot = std::make_shared<const OvershootHistogram>(found->second);
    }
    counters.near_misses = NearMissesOf(answers_[p]);
    counters.delay_ns = DelayInForce(rules.DoseOf((*patterns_)[p]).delay_ns, LeastCost(p));
  }
  snapshot.warnings.insert(snapshot.warnings.end(), warnings_.begin(), warnings_.end());
}

// Of a hit of the pattern's targets.
uint64_t NativePart::LeastCost(size_t pattern) const {
  const bool all_stepped =
      answers_[pattern].targets != 0 && std::ranges::all_of(rows_, [pattern](const Row& row) {
        return !row.in_force || row.target.patterns.front() != pattern || !row.target.site.emulated;
      });
  return all_stepped ? trap_costs_.stepped_ns : trap_costs_.emulated_ns;
}

uint32_t NativePart::CountTextBytesChanged() const {
  return static_cast<uint32_t>(std::ranges::count_if(rows_, [this](const Row& row) {
    const absl::StatusOr<TextState> state = LookAtText(process_, memory_, row.target);
    return !state.ok() || *state == TextState::kProbed || *state == TextState::kChanged;
  }));
}

}  // namespace sbump
