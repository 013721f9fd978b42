// Modules that come and go while a session runs: ModulePart::Tidy().
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/session/module_part.h"

namespace sbump {
namespace {

constexpr uint64_t kLongestPauseNs = 10'000'000'000;

}  // namespace

// Beside the session: a model may have thousands of modules, and threads of the process may wait
// for this one.
void ModulePart::LookAgain(bool known_roots) {
  ModuleQuery query = QueryOf(*list_);
  if (known_roots) query = OfKnown(forest_.trees, std::move(query));
  looking_for_roots_ = query.roots.empty() && query.known_callables.empty();
  try {
    looking_ = std::async(std::launch::async, [this, list = list_, query = std::move(query)] {
      const sched_param ordinary{};
      pthread_setschedparam(pthread_self(), SCHED_OTHER, &ordinary);
      Found found{
          .list = list,
          .forest = ReadModules(memory_, *interpreter_, query, MonotonicNs() + kLongestReadNs)};
      found.took_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
      return found;
    });
  } catch (const std::system_error&) {  // no thread to be had: next time, then
  }
}

bool ModulePart::IsAsBefore(const ModuleForest& forest) const {
  const auto same = [](const ModuleTree& a, const ModuleTree& b) {
    return std::ranges::equal(a.modules, b.modules, [](const Module& one, const Module& other) {
      return one.object == other.object && one.type == other.type && one.path == other.path;
    });
  };
  return std::ranges::equal(forest.trees, forest_.trees, same);
}

void ModulePart::AwaitImport(const TargetRules& rules, Programs& programs, LinkKeeper& keeper,
                             Journal& journal) {
  if (MonotonicNs() < next_look_ns_) return;
  next_look_ns_ = MonotonicNs() + kLookEveryNs;
  absl::Status status = probes_.Find(*interpreter_, list_->query);
  // Half imported, perhaps.
  if (absl::IsNotFound(status) || absl::IsDataLoss(status)) return;
  next_ = Resolution{.list = list_};
  if (status.ok()) status = Stage(programs, keeper, journal);
  if (status.ok()) return Commit(rules, programs);
  Rollback(programs);
  warnings_ = {StrCat("pid ", process_.pid(), ": ", status.message())};
  next_look_ns_ = MonotonicNs() + kLongestPauseNs;
}

void ModulePart::Tidy(const TargetRules& rules, Programs& programs, LinkKeeper& keeper,
                      Journal& journal) {
  if (list_->targets.empty()) return;
  if (!probes_.open()) return AwaitImport(rules, programs, keeper, journal);
  if (!looking_.valid()) return LookWhereDue(programs);
  if (looking_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  Found found = looking_.get();
  const uint64_t now_ns = MonotonicNs();
  next_look_ns_ = now_ns + std::max(kLookEveryNs, kShareOfLooking * found.took_ns);
  next_news_ns_ = now_ns + std::max(kLookEveryNs, kShareOfNews * found.took_ns);
  if (looking_for_roots_) next_classes_ns_ = now_ns + kLookForClassesEveryNs;
  if (found.list != list_) return;  // the targets changed meanwhile, and were read for that
  if (found.forest.ok()) {
    late_warning_.clear();
    known_are_gone_ = false;
    return TakeIn(*std::move(found.forest), rules, programs);
  }
  // A model that is gone: what is there instead?
  if (!looking_for_roots_) {
    looking_with_reason_ = known_are_gone_ = true;
    return LookAgain(false);
  }
  const bool were_gone = std::exchange(known_are_gone_, false);
  if (SaysNoModule(found.forest.status())) return TakeIn(ModuleForest(), rules, programs);
  // Which of those that are there is a root cannot be told.
  if (were_gone && absl::IsFailedPrecondition(found.forest.status()))
    TakeIn(ModuleForest(), rules, programs);
  if (absl::IsAborted(found.forest.status()) && !looking_with_reason_) return;
  late_warning_ = StrCat("modules that came later are left out: ", found.forest.status().message());
}

void ModulePart::LookWhereDue(Programs& programs) {
  const uint64_t now_ns = MonotonicNs();
  const uint64_t unknown = programs.unknown_module_calls();
  const bool has_news = unknown != unknown_calls_;
  if (now_ns < (has_news ? next_news_ns_ : next_look_ns_)) return;
  unknown_calls_ = unknown;
  looking_with_reason_ = has_news || forest_.trees.empty();
  LookAgain(!has_news && now_ns < next_classes_ns_);
}

void ModulePart::TakeIn(ModuleForest forest, const TargetRules& rules, Programs& programs) {
  // The probe has forgotten some, whose place another object had for a while.
  const uint64_t calls_of_gone = programs.skipped()[SB_SKIP_MODULE_GONE];
  if (std::exchange(calls_of_gone_, calls_of_gone) != calls_of_gone) retell_ = true;
  if (!retell_ && IsAsBefore(forest)) return;
  next_ = Resolution{.list = list_, .forest = std::move(forest)};
  rows_before_ = rows_.size();
  if (const absl::Status status = PlanRows(programs); !status.ok()) {
    Rollback(programs);
    late_warning_ = StrCat("modules that came later are left out: ", status.message());
    return;
  }
  FollowSpans(programs);
  Commit(rules, programs);
}

}  // namespace sbump
