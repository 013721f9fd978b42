#include "daemon/gate/probe_costs.h"

#include <algorithm>
#include <optional>

namespace sbump {
namespace {

// Of a pattern of native functions or of modules.
std::optional<Dose> DoseOf(const TargetRules& rules, const std::string& text) {
  const auto native = std::ranges::find(*rules.natives, text, &NativePattern::text);
  if (native != rules.natives->end()) return rules.DoseOf(*native);
  const auto module = std::ranges::find(rules.modules->targets, text, &ModuleTarget::text);
  if (module != rules.modules->targets.end()) return rules.DoseOf(module->overrides);
  return std::nullopt;
}

// A call that was not delayed took what its probe costs; one that was followed to its end passed
// two.
uint64_t TakenBy(const RowCounters& row, uint64_t hit_cost_ns) {
  const uint64_t only_counted = row.calls - std::min(row.calls, row.delayed_calls);
  const uint64_t followed = row.spans ? row.spans->calls : 0;
  return row.injected_delay_ns + (only_counted + followed) * hit_cost_ns;
}

}  // namespace

std::map<std::string, AuditRule> RaisedDoses(const Snapshot& process, const TargetRules& recorded,
                                             uint64_t recorded_cost_ns) {
  std::map<std::string, AuditRule> raised;
  for (const auto& row : process.rows) {
    if (row->pattern >= process.patterns.size()) continue;
    const std::string& text = process.patterns[row->pattern].pattern;
    const std::optional<Dose> dose = DoseOf(recorded.AtMost(), text);
    if (!dose) continue;
    const uint64_t in_force_ns = DelayInForce(dose->delay_ns, HitCostNs(process, *row));
    if (in_force_ns <= DelayInForce(dose->delay_ns, recorded_cost_ns)) continue;
    AuditRule& rule = raised[text];
    rule = {text, std::max(rule.delay_ns, in_force_ns), dose->every};
  }
  return raised;
}

std::map<TargetId, uint64_t> TakenFrom(const SessionSnapshot& snapshot) {
  std::map<TargetId, uint64_t> taken_ns;
  for (const auto& process : snapshot.processes) {
    uint64_t& sum_ns = taken_ns[{process->process.pid, process->process.start_ticks}];
    for (size_t i = 0; i < process->counters.size(); ++i)
      sum_ns += TakenBy(process->counters[i], HitCostNs(*process, *process->rows[i]));
  }
  return taken_ns;
}

}  // namespace sbump
