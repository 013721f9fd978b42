#include "client/experiment/confirmation.h"

#include <algorithm>
#include <string>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/estimate_to_proto.h"
#include "daemon/match/module_pattern.h"
#include "daemon/match/native_pattern.h"
#include "daemon/match/pattern.h"

namespace sbump {
namespace {

bool IsTested(const v1::TargetGroup& group) { return RoleOf(group.role()) == GroupRole::kTested; }

// Excludes have no overrides. The daemon has taken these texts already.
void ExcludeFunctions(const v1::TargetSelection& others, v1::TargetSelection& selection) {
  if (selection.patterns().empty()) return;
  for (const v1::TargetPattern& target : others.patterns()) {
    const absl::StatusOr<Pattern> pattern = ParsePattern(target.pattern());
    if (pattern.ok())
      selection.add_exclude(StrCat(pattern->module.pattern(), ":", pattern->qualname.pattern()));
  }
}

void ExcludeModules(const v1::TargetSelection& others, v1::TargetSelection& selection) {
  if (selection.modules().empty()) return;
  for (const v1::ModuleTarget& target : others.modules()) {
    const absl::StatusOr<ModuleTarget> module = ParseModuleTarget(target.pattern());
    if (module.ok()) selection.add_module_exclude(module->pattern.text());
  }
}

std::string WithoutOverrides(const std::string& native) {
  const absl::StatusOr<NativePattern> pattern = ParseNativePattern(native);
  return pattern.ok() ? StrCat(pattern->path.pattern(), ":", pattern->What()) : native;
}

void DropNatives(const v1::TargetSelection& others, v1::TargetSelection& selection) {
  const auto is_of_others = [&others](const v1::NativeTarget& native) {
    const std::string name = WithoutOverrides(native.target());
    return std::ranges::any_of(others.native(), [&name](const v1::NativeTarget& other) {
      return WithoutOverrides(other.target()) == name;
    });
  };
  auto& natives = *selection.mutable_native();
  natives.erase(std::remove_if(natives.begin(), natives.end(), is_of_others), natives.end());
}

}  // namespace

std::optional<v1::Experiment> ConfirmationOf(const std::vector<MadeExperiment>& experiments) {
  const v1::Ranking ranking = RankingOf(experiments, true);
  if (ranking.results().empty() || ranking.results(0).verdict() != v1::MATTERS) return std::nullopt;
  for (auto made = experiments.rbegin(); made != experiments.rend(); ++made) {
    for (const v1::TargetGroup& group : made->asked->groups()) {
      if (group.name() != ranking.results(0).name()) continue;
      v1::Experiment asked = *made->asked;
      asked.clear_groups();
      *asked.add_groups() = group;
      for (const v1::TargetGroup& control : made->asked->groups())
        if (!IsTested(control)) *asked.add_groups() = control;
      asked.clear_asks_first();
      asked.clear_doses();
      asked.clear_factorial();
      asked.set_phase(v1::CONFIRMATION);
      if (asked.seed() != 0) asked.set_seed(asked.seed() + experiments.size());
      return asked;
    }
  }
  return std::nullopt;
}

void ExcludeGroupsBefore(const v1::Experiment& main, v1::Experiment& confirmation) {
  v1::TargetGroup& confirmed = *confirmation.mutable_groups(0);
  for (const v1::TargetGroup& group : main.groups()) {
    if (group.name() == confirmed.name()) return;
    if (!IsTested(group)) continue;
    ExcludeFunctions(group.selection(), *confirmed.mutable_selection());
    ExcludeModules(group.selection(), *confirmed.mutable_selection());
    DropNatives(group.selection(), *confirmed.mutable_selection());
  }
}

}  // namespace sbump
