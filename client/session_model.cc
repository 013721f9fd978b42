#include "client/session_model.h"

#include <algorithm>
#include <tuple>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr int kMaxWarnings = 100;

std::string KeyOf(const v1::TargetStats& stats) {
  return StrCat(stats.pid(), "\n", stats.process_number(), "\n", stats.pattern(), "\n",
                stats.filename(), "\n", stats.first_line(), "\n", stats.qualname());
}

bool ComesFirst(const TargetRow* a, const TargetRow* b) {
  const auto key = [](const v1::TargetStats& s) {
    return std::make_tuple(~s.injected_delay_ns(), ~s.calls(), std::string_view(s.filename()),
                           s.first_line(), std::string_view(s.qualname()));
  };
  return key(a->stats) < key(b->stats);
}

std::vector<const TargetRow*> Best(std::vector<const TargetRow*> rows, size_t limit) {
  const size_t count = std::min(limit, rows.size());
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end(),
                    ComesFirst);
  rows.resize(count);
  return rows;
}

// Replaces the element of `list` that has the same `key`, or adds one.
template <typename Item, typename KeyFunction>
void Merge(const Item& item, const KeyFunction& key,
           google::protobuf::RepeatedPtrField<Item>* list) {
  const auto same = [&](const Item& other) { return key(other) == key(item); };
  const auto found = std::find_if(list->begin(), list->end(), same);
  *(found == list->end() ? list->Add() : &*found) = item;
}

}  // namespace

void SessionModel::Apply(const v1::SessionUpdate& update) {
  const uint64_t before = head_.unix_ns();
  const uint64_t elapsed_ns =
      before != 0 && update.unix_ns() > before ? update.unix_ns() - before : 0;
  ++updates_;
  for (const v1::TargetStats& stats : update.targets()) ApplyRow(stats, elapsed_ns);
  for (auto& [key, row] : rows_) {
    if (row.update_number != updates_) row.calls_per_second = 0;
  }
  KeepHead(update);
}

void SessionModel::ApplyRow(const v1::TargetStats& stats, uint64_t elapsed_ns) {
  TargetRow& row = rows_[KeyOf(stats)];
  const uint64_t before = row.stats.calls();
  const uint64_t more = stats.calls() > before ? stats.calls() - before : 0;
  row.calls_per_second =
      elapsed_ns == 0 ? 0 : static_cast<double>(more) * 1e9 / static_cast<double>(elapsed_ns);
  row.stats = stats;
  row.update_number = updates_;
}

void SessionModel::KeepHead(const v1::SessionUpdate& update) {
  head_.set_session_id(update.session_id().empty() ? head_.session_id() : update.session_id());
  head_.set_state(update.state());
  head_.set_inexact(update.inexact());
  head_.set_progress(update.progress());
  head_.set_unix_ns(update.unix_ns());
  head_.set_delay_ns(update.delay_ns());
  head_.set_trap_cost_ns(update.trap_cost_ns());
  if (update.has_process()) *head_.mutable_process() = update.process();
  if (update.has_times()) *head_.mutable_times() = update.times();
  if (update.has_end()) *head_.mutable_end() = update.end();
  for (const v1::PatternStats& pattern : update.patterns()) KeepPattern(pattern);
  // Each update carries all of them.
  if (update.processes_size() != 0) *head_.mutable_processes() = update.processes();
  for (const auto& skipped : update.skipped()) {
    Merge(
        skipped, [](const auto& s) { return s.reason(); }, head_.mutable_skipped());
  }
  for (const std::string& warning : update.warnings()) {
    if (head_.warnings_size() >= kMaxWarnings) break;
    Merge(
        warning, [](const auto& w) { return w; }, head_.mutable_warnings());
  }
}

void SessionModel::KeepPattern(const v1::PatternStats& pattern) {
  const auto [place, is_new] =
      pattern_places_.try_emplace(pattern.pattern(), head_.patterns_size());
  *(is_new ? head_.add_patterns() : head_.mutable_patterns(place->second)) = pattern;
}

std::vector<const TargetRow*> SessionModel::TopRows(size_t limit) const {
  std::vector<const TargetRow*> rows;
  for (const auto& [key, row] : rows_) rows.push_back(&row);
  return Best(std::move(rows), limit);
}

std::vector<const TargetRow*> SessionModel::TopRecentRows(size_t limit) const {
  std::vector<const TargetRow*> rows;
  for (const auto& [key, row] : rows_) {
    if (row.calls_per_second > 0) rows.push_back(&row);
  }
  return Best(std::move(rows), limit);
}

double SessionModel::MeanRate(const TargetRow& row) const {
  if (active_ns() == 0) return 0;
  return static_cast<double>(row.stats.calls()) * 1e9 / static_cast<double>(active_ns());
}

}  // namespace sbump
