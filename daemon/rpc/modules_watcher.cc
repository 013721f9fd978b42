#include "daemon/rpc/modules_watcher.h"

#include <google/protobuf/util/field_comparator.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "daemon/base/str_cat.h"
#include "daemon/rpc/modules_to_proto.h"
#include "daemon/rpc/pieces.h"
#include "daemon/session/attach_spec.h"

namespace sbump {
namespace {

using Modules = google::protobuf::RepeatedPtrField<v1::Module>;
// The path, and of several of one path which of them it is.
using Key = std::pair<std::string_view, int>;

// In the order of the tree.
std::vector<std::pair<Key, const v1::Module*>> WithKeys(const Modules& modules) {
  std::vector<std::pair<Key, const v1::Module*>> with_keys;
  std::map<std::string_view, int> of_one_path;
  for (const v1::Module& module : modules)
    with_keys.push_back({{module.path(), of_one_path[module.path()]++}, &module});
  return with_keys;
}

bool AreSame(const v1::Module& a, const v1::Module& b) {
  google::protobuf::util::DefaultFieldComparator values;
  values.set_treat_nan_as_equal(true);
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_field_comparator(&values);
  return differencer.Compare(a, b);
}

std::vector<v1::ModulesChange> ChangesBetween(const v1::ListModulesReply& before,
                                              const v1::ListModulesReply& now) {
  const auto then = WithKeys(before.modules()), today = WithKeys(now.modules());
  const std::map<Key, const v1::Module*> old_ones(then.begin(), then.end());
  const std::map<Key, const v1::Module*> new_ones(today.begin(), today.end());
  Pieces<v1::ModulesChange> pieces{{}};
  bool any = false;
  const auto add = [&](v1::Module* (v1::ModulesChange::*where)(), const v1::Module& module) {
    pieces.Next(where) = module;
    any = true;
  };
  for (const auto& [key, module] : then)
    if (!new_ones.contains(key)) add(&v1::ModulesChange::add_vanished, *module);
  for (const auto& [key, module] : today) {
    const auto old = old_ones.find(key);
    if (old == old_ones.end())
      add(&v1::ModulesChange::add_appeared, *module);
    else if (!AreSame(*old->second, *module))
      add(&v1::ModulesChange::add_changed, *module);
  }
  for (const std::string& warning : now.warnings()) {
    if (std::ranges::find(before.warnings(), warning) != before.warnings().end()) continue;
    pieces.First().add_warnings(warning);
    any = true;
  }
  return any ? pieces.Take() : std::vector<v1::ModulesChange>();
}

// All of it.
std::vector<v1::ModulesUpdate> AsFirst(std::vector<v1::ListModulesReply> pieces) {
  std::vector<v1::ModulesUpdate> updates;
  for (v1::ListModulesReply& piece : pieces)
    *updates.emplace_back().mutable_modules() = std::move(piece);
  return updates;
}

std::vector<v1::ModulesUpdate> AsChanges(const v1::ListModulesReply& before,
                                         const v1::ListModulesReply& now) {
  std::vector<v1::ModulesUpdate> updates;
  for (v1::ModulesChange& change : ChangesBetween(before, now))
    *updates.emplace_back().mutable_change() = std::move(change);
  return updates;
}

}  // namespace

absl::Status ModulesWatcher::CheckProcess(const ProcessInfo& process) {
  if (start_ticks_.value_or(process.start_ticks) != process.start_ticks) {
    return absl::NotFoundError(
        StrCat("pid ", process.pid, ": it has ended, and another process has its number"));
  }
  start_ticks_ = process.start_ticks;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<v1::ModulesUpdate>> ModulesWatcher::Take(
    const absl::StatusOr<ModulesResult>& look) {
  const bool is_vague = look.ok() ? look->forest.has_changed : absl::IsAborted(look.status());
  if (is_vague && (before_ || !look.ok())) return std::vector<v1::ModulesUpdate>();
  std::vector<v1::ListModulesReply> pieces(1);
  spec_.query.named_roots.clear();
  if (look.ok()) {
    SB_RETURN_IF_ERROR(CheckProcess(look->process));
    spec_.query.named_roots = RootsOf(look->forest.trees);
    pieces = ToReplies(*look, spec_);
  } else if (!MayHaveModulesLater(look.status())) {
    return look.status();
  }
  v1::ListModulesReply now;
  for (const v1::ListModulesReply& piece : pieces) now.MergeFrom(piece);
  std::vector<v1::ModulesUpdate> updates =
      before_ ? AsChanges(*before_, now) : AsFirst(std::move(pieces));
  before_ = std::move(now);
  return updates;
}

absl::StatusOr<uint64_t> ToLookInterval(const v1::WatchModulesRequest& request) {
  constexpr uint64_t kSecondNs = 1'000'000'000, kHourNs = 3600 * kSecondNs;
  const uint64_t interval_ns = request.interval_ns() == 0 ? kSecondNs : request.interval_ns();
  if (interval_ns < kMinIntervalNs || interval_ns > kHourNs)
    return absl::InvalidArgumentError(StrCat("interval_ns is ", interval_ns, ": 50 ms to 1 h"));
  if (interval_ns < kSecondNs && request.tree().max_stop_ns() != 0) {
    return absl::InvalidArgumentError(
        StrCat("interval_ns is ", interval_ns, ": at least 1 s where a look may stop the process"));
  }
  return interval_ns;
}

}  // namespace sbump
