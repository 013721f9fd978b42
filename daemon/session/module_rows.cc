// What is told of the modules of a session: ModulePart::Describe().
#include "daemon/base/str_cat.h"
#include "daemon/session/module_part.h"
#include "daemon/session/row_counters.h"
#include "daemon/stats/histogram.h"

namespace sbump {

std::vector<NearMissText> ModulePart::WhyNone(const ModuleTarget& target) const {
  if (!probes_.found()) return {{"", StrCat("it has not imported ", list_->query.root_type)}};
  if (forest_.trees.empty()) return {{"", "there is no module yet"}};
  const bool by_type = target.pattern.text().starts_with("type:");
  const auto takes = [&](const std::string& path) { return target.pattern.Matches(path, {}); };
  for (const auto& [alias, path] : aliases_) {
    if (!by_type && takes(alias) && !takes(path))
      return {{"", StrCat(alias, " is another name of ", path, ": name that")}};
  }
  return {{"", StrCat("none of the ", forest_.modules(), " modules has such a ",
                      by_type ? "type" : "path", "; sbumpctl modules lists them")}};
}

void ModulePart::Warn(Snapshot& snapshot) const {
  snapshot.warnings.insert(snapshot.warnings.end(), warnings_.begin(), warnings_.end());
  if (collector_ != nullptr && collector_->switched_within_calls()) {
    snapshot.warnings.push_back(
        StrCat("pid ", process_.pid(),
               ": its greenlets switch within calls of modules: which call is within which is told "
               "by their paths, and self_ns and graphs are not to be relied on"));
  }
  if (!late_warning_.empty()) snapshot.warnings.push_back(late_warning_);
  const std::vector<std::string>& unseen = probes_.operators().warnings();
  snapshot.warnings.insert(snapshot.warnings.end(), unseen.begin(), unseen.end());
  snapshot.warnings.insert(snapshot.warnings.end(), forest_.warnings.begin(),
                           forest_.warnings.end());
}

void ModulePart::Describe(const TargetRules& rules, Programs& programs, Snapshot& snapshot) const {
  const size_t first = snapshot.patterns.size();
  snapshot.module_hit_cost_ns = CostNs();
  std::vector<OvershootHistogram> overshoot(list_->targets.size());
  std::vector<bool> gone(list_->targets.size());
  for (const ModuleTarget& target : list_->targets) {
    const Dose dose = rules.DoseOf(target.overrides);
    snapshot.patterns.push_back({.pattern = target.text,
                                 .delay_ns = DelayInForce(dose.delay_ns, CostNs()),
                                 .every = dose.every});
  }
  for (const Row& row : rows_) {
    if (row.info == nullptr) continue;  // staged
    const sb_slot& slot = programs.slot(row.slot);
    snapshot.rows.push_back(row.info);
    snapshot.counters.push_back(CountersOf(slot));
    if (collector_ != nullptr && row.followed)
      snapshot.counters.back().spans = collector_->FiguresOf(row.path);
    for (size_t target : row.targets) {
      PatternCounters& pattern = snapshot.patterns[first + target];
      pattern.rows += row.in_force;
      pattern.calls += snapshot.counters.back().calls;
      gone[target] = gone[target] || !row.in_force;
    }
    if (row.targets.empty()) continue;
    const size_t owner = row.targets.front();
    Accumulate(snapshot.patterns[first + owner].total, snapshot.counters.back());
    overshoot[owner].Add(slot.overshoot);
  }
  for (size_t i = 0; i < list_->targets.size(); ++i) {
    PatternCounters& counters = snapshot.patterns[first + i];
    counters.status = StatusOf(counters.rows, counters.calls);
    if (counters.rows == 0 && gone[i]) {
      counters.status = PatternStatus::kGone;
      snapshot.warnings.push_back(
          StrCat("pid ", process_.pid(), ": what ", counters.pattern,
                 " matched is gone, or has another path by now: nothing is slowed for it; see "
                 "sbumpctl modules"));
    } else if (counters.rows == 0) {
      counters.near_misses = WhyNone(list_->targets[i]);
    }
    counters.total.overshoot = overshoot[i].Percentiles();
    counters.overshoot = std::make_shared<const OvershootHistogram>(overshoot[i]);
  }
  Warn(snapshot);
}

}  // namespace sbump
