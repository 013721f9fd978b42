#include "daemon/rpc/modules_watcher.h"

#include <google/protobuf/util/field_comparator.h>
#include <google/protobuf/util/message_differencer.h>

#include <map>
#include <string_view>
#include <utility>

#include "daemon/base/str_cat.h"
#include "daemon/rpc/pieces.h"
#include "daemon/session/attach_spec.h"

namespace sbump {
namespace {

using Modules = google::protobuf::RepeatedPtrField<v1::Module>;
using ByPath = std::map<std::string_view, const v1::Module*>;

ByPath PathsOf(const Modules& modules) {
  ByPath by_path;
  for (const v1::Module& module : modules) by_path.emplace(module.path(), &module);
  return by_path;
}

bool AreSame(const v1::Module& a, const v1::Module& b) {
  google::protobuf::util::DefaultFieldComparator values;
  values.set_treat_nan_as_equal(true);
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_field_comparator(&values);
  return differencer.Compare(a, b);
}

std::vector<v1::ModulesChange> ChangesBetween(const Modules& before, const Modules& now) {
  const ByPath then = PathsOf(before), today = PathsOf(now);
  Pieces<v1::ModulesChange> pieces{{}};
  bool any = false;
  const auto add = [&](v1::Module* (v1::ModulesChange::*where)(), const v1::Module& module) {
    pieces.Next(where) = module;
    any = true;
  };
  for (const v1::Module& module : before)
    if (!today.contains(module.path())) add(&v1::ModulesChange::add_vanished, module);
  for (const v1::Module& module : now) {
    const auto old = then.find(module.path());
    if (old == then.end())
      add(&v1::ModulesChange::add_appeared, module);
    else if (!AreSame(*old->second, module))
      add(&v1::ModulesChange::add_changed, module);
  }
  return any ? pieces.Take() : std::vector<v1::ModulesChange>();
}

// All of it.
std::vector<v1::ModulesUpdate> AsFirst(const std::vector<v1::ListModulesReply>& pieces) {
  std::vector<v1::ModulesUpdate> updates;
  for (const v1::ListModulesReply& piece : pieces)
    *updates.emplace_back().mutable_modules() = piece;
  return updates;
}

std::vector<v1::ModulesUpdate> AsChanges(const Modules& before, const Modules& now) {
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
  if (absl::IsAborted(look.status())) return std::vector<v1::ModulesUpdate>();
  std::vector<v1::ListModulesReply> pieces(1);
  spec_.query.named_roots.clear();
  if (look.ok()) {
    SB_RETURN_IF_ERROR(CheckProcess(look->process));
    spec_.query.named_roots = RootsOf(look->forest.trees);
    pieces = ToReplies(*look, spec_);
  } else if (!absl::IsFailedPrecondition(look.status())) {
    return look.status();
  }
  v1::ListModulesReply now;
  for (const v1::ListModulesReply& piece : pieces) now.MergeFrom(piece);
  std::vector<v1::ModulesUpdate> updates =
      before_ ? AsChanges(before_->modules(), now.modules()) : AsFirst(pieces);
  before_ = std::move(now);
  return updates;
}

absl::StatusOr<uint64_t> ToLookInterval(const v1::WatchModulesRequest& request) {
  constexpr uint64_t kDefaultNs = 1'000'000'000, kLongestNs = 3'600'000'000'000;
  if (request.interval_ns() == 0) return kDefaultNs;
  if (request.interval_ns() < kMinIntervalNs || request.interval_ns() > kLongestNs) {
    return absl::InvalidArgumentError(
        StrCat("interval_ns is ", request.interval_ns(), ": 50 ms to one hour"));
  }
  return request.interval_ns();
}

}  // namespace sbump
