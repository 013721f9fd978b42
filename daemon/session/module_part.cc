#include "daemon/session/module_part.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"

namespace sbump {
// ---- Changing the targets ----

size_t ModulePart::most_links() const {
  return spec_.rules.modules->targets.empty() ? 0 : probes_.most_links();
}

ModuleQuery ModulePart::QueryOf(const ModuleList& list) const {
  ModuleQuery query = list.query;
  query.named_roots = RootsOf(forest_.trees);
  return query;
}

absl::StatusOr<ModulePart::Resolution> ModulePart::Look(
    std::shared_ptr<const ModuleList> list) const {
  Resolution found{.list = std::move(list)};
  absl::StatusOr<ModuleForest> forest =
      ReadModules(memory_, *interpreter_, QueryOf(*found.list), MonotonicNs() + kLongestReadNs);
  // No module is there, or they cannot be read right now: both may pass.
  if (absl::IsFailedPrecondition(forest.status()) || absl::IsAborted(forest.status())) {
    found.warnings.push_back(StrCat("pid ", process_.pid(), ": ", forest.status().message()));
    return found;
  }
  SB_RETURN_IF_ERROR(forest.status());
  found.forest = *std::move(forest);
  return found;
}

absl::Status ModulePart::Resolve(std::shared_ptr<const ModuleList> list,
                                 InterpreterFileCache& files) {
  if (list->targets.empty()) {
    next_ = Resolution{.list = std::move(list)};
    return absl::OkStatus();
  }
  if (probes_.found() && list->query.root_type != probes_.root_type()) {
    return absl::FailedPreconditionError(
        StrCat("the session is about modules that are instances of ", probes_.root_type(),
               ": end it, and attach anew"));
  }
  if (!interpreter_) {
    SB_ASSIGN_OR_RETURN(interpreter_, FindInterpreter(process_, memory_, files));
  }
  const std::string who = StrCat("pid ", process_.pid());
  if (interpreter_->layout().free_threaded) {
    return absl::UnimplementedError(StrCat(
        who, ": calls of the instances of ", list->query.root_type,
        " cannot be seen: this is a free-threaded build, which keeps no list of its objects"));
  }
  const absl::Status site = probes_.Find(*interpreter_, list->query);
  if (absl::IsNotFound(site)) {
    next_ = Resolution{.list = std::move(list), .warnings = {StrCat(who, ": ", site.message())}};
    return absl::OkStatus();
  }
  if (!site.ok()) return Annotate(site, who);
  absl::StatusOr<Resolution> found = Look(std::move(list));
  if (!found.ok()) return Annotate(found.status(), who);
  next_ = *std::move(found);
  next_classes_ns_ = MonotonicNs() + kLookForClassesEveryNs;
  return absl::OkStatus();
}

size_t ModulePart::RowOf(const Module& module) {
  const auto [known, is_new] = row_by_path_.emplace(module.path, rows_.size());
  if (is_new) {
    rows_.push_back(
        {.path = module.path, .slot = static_cast<uint32_t>(SB_FIRST_MODULE_SLOT + rows_.size())});
  }
  return known->second;
}

// Which modules the targets mean. The first target that takes a module owns it.
absl::Status ModulePart::PlanRows(Programs& programs) {
  next_places_.clear();
  size_t left_out = 0;
  std::string first_left_out;
  for (const ModuleTree& tree : next_->forest.trees) {
    for (const Module& module : tree.modules) {
      const auto takes = [&module](const ModulePattern& pattern) {
        return pattern.Matches(module.path, module.base_types);
      };
      if (std::ranges::any_of(next_->list->excludes, takes)) continue;
      Place place{.object = module.object, .class_name = module.full_type};
      for (size_t i = 0; i < next_->list->targets.size(); ++i) {
        if (takes(next_->list->targets[i].pattern)) place.targets.push_back(i);
      }
      if (place.targets.empty()) continue;
      if (module.call != probes_.call()) {
        if (left_out++ == 0) first_left_out = StrCat(module.path, " (", module.full_type, ")");
        continue;
      }
      place.row = RowOf(module);
      rows_[place.row].followed = IsFollowed(module);
      next_places_.push_back(std::move(place));
    }
  }
  if (left_out != 0) {
    next_->warnings.push_back(StrCat(left_out,
                                     " modules are left out, since their calls do not begin "
                                     "where those of the others do: ",
                                     first_left_out, left_out == 1 ? "" : " and others"));
  }
  return programs.ReserveModuleSlots(static_cast<uint32_t>(rows_.size()));
}

absl::Status ModulePart::OpenProbes(Programs& programs, LinkKeeper& keeper, Journal& journal) {
  if (probes_.open() || !probes_.found() || next_->list->targets.empty()) return absl::OkStatus();
  opens_ = true;
  return probes_.Open(programs, keeper, journal);
}

absl::Status ModulePart::Stage(Programs& programs, LinkKeeper& keeper, Journal& journal) {
  rows_before_ = rows_.size();
  absl::Status status = PlanRows(programs);
  if (status.ok()) FollowSpans(programs);
  if (status.ok()) status = OpenProbes(programs, keeper, journal);
  if (status.ok()) IntroduceModules(programs);
  if (!status.ok()) Rollback(programs);
  return status;
}

void ModulePart::Rollback(Programs& programs) {
  if (!next_) return;
  if (std::exchange(opens_, false)) probes_.Close(programs);
  while (rows_.size() > rows_before_) {
    row_by_path_.erase(rows_.back().path);
    rows_.pop_back();
  }
  next_places_.clear();
  next_.reset();
}

std::shared_ptr<const RowInfo> ModulePart::InfoOf(const Row& row,
                                                  const std::vector<size_t>& targets) const {
  auto info = std::make_shared<RowInfo>();
  for (size_t target : targets) info->matches.push_back(first_pattern_ + target);
  if (!targets.empty()) info->pattern = info->matches.front();
  info->qualname = row.path;
  info->qualname_source = "module path";
  info->module_type = row.type;
  return info;
}

void ModulePart::NoteAliases() {
  aliases_.clear();
  for (const ModuleTree& tree : forest_.trees) {
    for (const Module& module : tree.modules)
      for (const std::string& alias : module.aliases) aliases_.emplace_back(alias, module.path);
  }
}

void ModulePart::Commit(const TargetRules& rules, Programs& programs) {
  if (!next_) return;
  first_pattern_ = rules.targets->patterns().size() + rules.natives->size();
  if (list_ != next_->list) {
    for (Row& row : rows_) row.targets.clear();
  }
  list_ = std::move(next_->list);
  forest_ = std::move(next_->forest);
  NoteAliases();
  warnings_ = std::move(next_->warnings);
  places_ = std::move(next_places_);
  next_.reset();
  opens_ = false;
  for (Row& row : rows_) row.in_force = false;
  for (const Place& place : places_) {
    Row& row = rows_[place.row];
    row.in_force = true;
    row.targets = place.targets;
    row.type = place.class_name;  // of another object at this path it may have been another one
    row.info = InfoOf(row, place.targets);
  }
  // It keeps its counters, without a pattern.
  for (Row& row : rows_) {
    if (!row.in_force) row.info = InfoOf(row, {});
  }
  constexpr size_t kMostWarnings = 20;
  if (const size_t warnings = forest_.warnings.size(); warnings > kMostWarnings) {
    forest_.warnings.resize(kMostWarnings);
    forest_.warnings.push_back(StrCat("and ", warnings - kMostWarnings, " more of these"));
  }
  PublishDoses(rules, programs);
  if (probes_.found()) SetTargets(programs);
}

bool ModulePart::IsFollowed(const Module& module) const {
  if (!spec_.spans || spec_.spans->skip_types.Take(module)) return false;
  const auto takes = [&module](const ModulePattern& pattern) {
    return pattern.Matches(module.path, module.base_types);
  };
  return spec_.spans->patterns.empty() || std::ranges::any_of(spec_.spans->patterns, takes);
}

sb_module ModulePart::EntryOf(const Module& module, uint32_t slot) const {
  return {.type = module.type.value,
          .slot = slot,
          .trap_cost_ns = static_cast<uint32_t>(CostNs()),
          .flags = slot != SB_NO_SLOT && IsFollowed(module) ? SB_MODULE_FOLLOWED : 0};
}

// What is about to be told of must be known first.
void ModulePart::FollowSpans(Programs& programs) {
  if (!spec_.spans || !probes_.found()) return;
  if (collector_ == nullptr) {
    collector_ = std::make_unique<SpanCollector>(process_, memory_, *interpreter_, programs,
                                                 probes_.saved(), spec_.spans->hub);
  }
  SpanCollector::Modules modules;
  for (const ModuleTree& tree : next_->forest.trees) {
    for (const Module& module : tree.modules) {
      modules[module.object.value] = std::make_shared<const SpanModule>(
          SpanModule{module.path, module.type_name, module.full_type, module.object.value,
                     module.IsA(kSequential)});
    }
  }
  collector_->SetModules(std::move(modules));
  if (spec_.spans->operators) collector_->SetOperators(probes_.operators().names());
  if (spec_.spans->shapes) collector_->SetTensors(next_->forest);
}

void ModulePart::Tell(const std::vector<std::pair<uint64_t, sb_module>>& modules, size_t tried,
                      const std::vector<uint64_t>& gone, Programs& programs) {
  for (uint64_t object : gone) told_.erase(object);
  for (const auto& [object, module] : modules) told_[object] = module;
  const absl::Status set = programs.ChangeModules(modules, tried, gone);
  retell_ = !set.ok();
  if (set.ok()) return;
  warnings_.push_back(StrCat("some modules are not known to the probe: ", set.message()));
  Log(LogLevel::kError, "modules", {{"pid", process_.pid()}, {"why", ToStd(set.message())}});
}

// All modules are told, so that one that is none of them is known for new. That takes a while for
// tens of thousands: beforehand, as no targets yet.
void ModulePart::IntroduceModules(Programs& programs) {
  std::vector<std::pair<uint64_t, sb_module>> fresh;
  for (const ModuleTree& tree : next_->forest.trees) {
    for (const Module& module : tree.modules) {
      const auto told = told_.find(module.object.value);
      if (told == told_.end() || told->second.type != module.type.value)
        fresh.emplace_back(module.object.value, EntryOf(module, SB_NO_SLOT));
    }
  }
  // Where there is no room for all of them, the targets are in.
  std::unordered_set<uint64_t> targets;
  for (const Place& place : next_places_) targets.insert(place.object.value);
  const auto others = std::stable_partition(
      fresh.begin(), fresh.end(), [&](const auto& entry) { return targets.contains(entry.first); });
  Tell(fresh, static_cast<size_t>(others - fresh.begin()), {}, programs);
}

// From here on calls of these are counted, and of no others. Only what changed: the process may be
// stopped.
void ModulePart::SetTargets(Programs& programs) {
  std::unordered_map<uint64_t, uint32_t> slots;
  for (const Place& place : places_) slots[place.object.value] = rows_[place.row].slot;
  std::map<uint64_t, sb_module> now;
  for (const ModuleTree& tree : forest_.trees) {
    for (const Module& module : tree.modules) {
      const auto slot = slots.find(module.object.value);
      now[module.object.value] = EntryOf(module, slot == slots.end() ? SB_NO_SLOT : slot->second);
    }
  }
  std::vector<std::pair<uint64_t, sb_module>> changed;
  std::vector<uint64_t> gone;
  for (const auto& [object, module] : now) {
    const auto told = told_.find(object);
    if (retell_ || told == told_.end() || told->second.type != module.type ||
        told->second.slot != module.slot)
      changed.emplace_back(object, module);
  }
  for (const auto& [object, module] : told_) {
    if (!now.contains(object)) gone.push_back(object);
  }
  // Where there is no room for all, what is delayed from here on, or no longer, is right.
  const auto others = std::stable_partition(changed.begin(), changed.end(), [&](const auto& entry) {
    const auto told = told_.find(entry.first);
    return entry.second.slot != SB_NO_SLOT ||
           (told != told_.end() && told->second.slot != SB_NO_SLOT);
  });
  Tell(changed, static_cast<size_t>(others - changed.begin()), gone, programs);
}

void ModulePart::CloseRetired(Programs& programs) {
  if (list_->targets.empty()) probes_.Close(programs);
}

uint64_t ModulePart::CostNs() const {
  return probes_.single_stepped() ? spec_.trap_costs.stepped_ns : spec_.trap_costs.emulated_ns;
}

void ModulePart::PublishDoses(const TargetRules& rules, Programs& programs) const {
  for (const Place& place : places_) {
    const Dose dose = rules.DoseOf(list_->targets[place.targets.front()].overrides);
    sb_slot& slot = programs.slot(rows_[place.row].slot);
    slot.delay_ns = DelayInForce(dose.delay_ns, CostNs());
    slot.every = dose.every;
  }
}

}  // namespace sbump
