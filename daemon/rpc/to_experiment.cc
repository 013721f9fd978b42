#include "daemon/rpc/to_experiment.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/estimate_to_proto.h"
#include "daemon/rpc/to_spec.h"
#include "daemon/rpc/wire_text.h"

namespace sbump {
namespace {

constexpr uint64_t kLongestExperimentNs = 24 * 3'600'000'000'000ull;
constexpr size_t kLongestName = 200;
constexpr uint32_t kMostBlocksAsked = 2'000;
constexpr uint32_t kMostDosesAsked = 4;

absl::Status CheckShare(std::string_view field, double value, double lowest, double highest) {
  if (value >= lowest && value <= highest) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(field, " is ", value, "; it must be from ", lowest, " to ", highest));
}

absl::Status CheckTime(std::string_view field, uint64_t value_ns, uint64_t highest_ns) {
  if (value_ns <= highest_ns) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(field, " is ", value_ns, "; the most is ", highest_ns));
}

double OrDefault(double value, double fallback) { return value == 0 ? fallback : value; }

// All groups' targets in one selection, and which group each of them is of.
struct Combined {
  v1::TargetSelection selection;
  std::vector<uint32_t> patterns, natives, modules;

  std::vector<uint32_t> GroupOf() const {
    std::vector<uint32_t> all = patterns;
    all.insert(all.end(), natives.begin(), natives.end());
    all.insert(all.end(), modules.begin(), modules.end());
    return all;
  }
};

// The first pattern that takes a function owns it: the metric's own come before all groups, and
// controls before those that are tested.
void AddMetric(const v1::WorkMetric& metric, uint32_t group, Combined& combined) {
  if (metric.has_calls()) {
    combined.selection.add_patterns()->set_pattern(metric.calls().pattern());
    combined.patterns.push_back(group);
  } else if (metric.has_native()) {
    combined.selection.add_native()->set_target(metric.native().target());
    combined.natives.push_back(group);
  }
}

// What a selection says of its modules' tree.
v1::TargetSelection TreeOf(v1::TargetSelection selection) {
  selection.clear_patterns();
  selection.clear_native();
  selection.clear_modules();
  selection.clear_exclude();
  selection.clear_module_exclude();
  selection.clear_paths_only();
  return selection;
}

absl::Status TakeTree(const v1::TargetSelection& from, v1::TargetSelection& to) {
  if (from.modules().empty()) return absl::OkStatus();
  const v1::TargetSelection tree = TreeOf(from);
  if (to.modules().empty()) {
    to.MergeFrom(tree);
  } else if (TreeOf(to).SerializeAsString() != tree.SerializeAsString()) {
    return absl::InvalidArgumentError(
        "groups of modules are of one tree: the same module_root, module_prefix and callables");
  }
  return absl::OkStatus();
}

template <typename Targets>
void AddTargets(const Targets& from, uint32_t group, Targets& to, std::vector<uint32_t>& groups) {
  to.MergeFrom(from);
  groups.insert(groups.end(), static_cast<size_t>(from.size()), group);
}

absl::Status AddGroup(const v1::TargetSelection& from, uint32_t group, Combined& combined) {
  v1::TargetSelection& to = combined.selection;
  if (from.patterns().empty() && from.native().empty() && from.modules().empty())
    return absl::InvalidArgumentError("it has no targets");
  SB_RETURN_IF_ERROR(TakeTree(from, to));
  AddTargets(from.patterns(), group, *to.mutable_patterns(), combined.patterns);
  AddTargets(from.native(), group, *to.mutable_native(), combined.natives);
  AddTargets(from.modules(), group, *to.mutable_modules(), combined.modules);
  to.mutable_exclude()->MergeFrom(from.exclude());
  to.mutable_module_exclude()->MergeFrom(from.module_exclude());
  to.set_paths_only(to.paths_only() || from.paths_only());
  return absl::OkStatus();
}

absl::Status CheckRole(v1::GroupRole role, const v1::WorkMetric& metric) {
  if (!v1::GroupRole_IsValid(role))
    return absl::InvalidArgumentError(
        "its role must be TESTED, POSITIVE_CONTROL or NEGATIVE_CONTROL");
  if (role == v1::POSITIVE_CONTROL && !metric.has_sampled())
    return absl::InvalidArgumentError(
        "the metric's own function is the positive control already: one of your own is for "
        "metrics that the client samples");
  return absl::OkStatus();
}

std::string Where(const std::string& name) { return StrCat("group \"", name, "\""); }

absl::Status NameGroups(const v1::Experiment& request, std::vector<Group>& groups) {
  std::set<std::string> names;
  for (const v1::TargetGroup& group : request.groups()) {
    const std::string name = Utf8(group.name().substr(0, kLongestName));
    if (name.empty()) return absl::InvalidArgumentError("a group has no name");
    if (!names.insert(name).second)
      return absl::InvalidArgumentError(StrCat(Where(name), ": two groups have this name"));
    const absl::Status role = CheckRole(group.role(), request.metric());
    if (!role.ok()) return Annotate(role, Where(name));
    groups.push_back({.name = name, .role = RoleOf(group.role())});
  }
  if (std::ranges::count(groups, GroupRole::kTested, &Group::role) == 0)
    return absl::InvalidArgumentError("groups: none of them is to be tested");
  return absl::OkStatus();
}

absl::Status AddGroupsOf(GroupRole role, const v1::Experiment& request,
                         const std::vector<Group>& groups, Combined& combined) {
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].role != role) continue;
    const v1::TargetSelection& selection = request.groups(static_cast<int>(i)).selection();
    const absl::Status added = AddGroup(selection, static_cast<uint32_t>(i), combined);
    if (!added.ok()) return Annotate(added, Where(groups[i].name));
  }
  return absl::OkStatus();
}

absl::StatusOr<Combined> Combine(const v1::Experiment& request, std::vector<Group>& groups) {
  if (request.groups().empty() || request.groups_size() > kMostGroupsAsked) {
    return absl::InvalidArgumentError(
        StrCat("groups: ", request.groups_size(), "; it must be from 1 to ", kMostGroupsAsked));
  }
  SB_RETURN_IF_ERROR(NameGroups(request, groups));
  Combined combined;
  AddMetric(request.metric(), static_cast<uint32_t>(groups.size()), combined);
  SB_RETURN_IF_ERROR(AddGroupsOf(GroupRole::kPositiveControl, request, groups, combined));
  SB_RETURN_IF_ERROR(AddGroupsOf(GroupRole::kNegativeControl, request, groups, combined));
  SB_RETURN_IF_ERROR(AddGroupsOf(GroupRole::kTested, request, groups, combined));
  if (!request.metric().has_sampled())
    groups.push_back({.name = "the metric's own function", .role = GroupRole::kPositiveControl});
  return combined;
}

// The same lists, with each target's group. Excludes are of what is tested: a function that is
// excluded still counts units, or controls.
TargetRules Labelled(const TargetRules& rules, const Combined& combined,
                     const std::vector<Group>& groups) {
  std::vector<Pattern> patterns = rules.targets->patterns();
  for (size_t i = 0; i < patterns.size(); ++i) {
    patterns[i].group = combined.patterns[i];
    patterns[i].is_exempt = groups[combined.patterns[i]].role != GroupRole::kTested;
  }
  NativeList natives = *rules.natives;
  for (size_t i = 0; i < natives.size(); ++i) natives[i].overrides.group = combined.natives[i];
  ModuleList modules = *rules.modules;
  for (size_t i = 0; i < modules.targets.size(); ++i)
    modules.targets[i].overrides.group = combined.modules[i];
  TargetRules labelled = rules;
  labelled.targets = std::make_shared<const TargetList>(
      std::move(patterns), rules.targets->excludes(), rules.targets->paths_only());
  labelled.natives = std::make_shared<const NativeList>(std::move(natives));
  labelled.modules = std::make_shared<const ModuleList>(std::move(modules));
  return labelled;
}

// The metric's patterns alone: they are the first of their lists.
ExperimentTargets Bare(const ExperimentTargets& all, const v1::WorkMetric& metric) {
  std::vector<Pattern> patterns;
  NativeList natives;
  if (metric.has_calls()) patterns.push_back(all.rules.targets->patterns().front());
  if (metric.has_native()) natives.push_back(all.rules.natives->front());
  ExperimentTargets bare = {.rules = all.rules};
  bare.rules.targets = std::make_shared<const TargetList>(
      std::move(patterns), all.rules.targets->excludes(), all.rules.targets->paths_only());
  bare.rules.natives = std::make_shared<const NativeList>(std::move(natives));
  bare.rules.modules = std::make_shared<const ModuleList>();
  if (all.metric) {
    bare.metric = 0;
    bare.group_of = {all.group_of[*all.metric]};
  }
  return bare;
}

absl::Status TakeMetric(const v1::WorkMetric& metric, const Combined& combined,
                        ExperimentRequest& experiment) {
  switch (metric.source_case()) {
    case v1::WorkMetric::kCalls:
      experiment.metric = StrCat("calls:", metric.calls().pattern());
      experiment.all.metric = 0;
      return absl::OkStatus();
    case v1::WorkMetric::kNative:
      experiment.metric = StrCat("native:", metric.native().target());
      experiment.all.metric = combined.patterns.size();
      return absl::OkStatus();
    case v1::WorkMetric::kSampled:
      experiment.metric = Utf8(metric.sampled().text().substr(0, 4096));
      experiment.all.quantile = metric.sampled().quantile();
      return CheckShare("metric.sampled.quantile", experiment.all.quantile, 0, 0.9999);
    case v1::WorkMetric::SOURCE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "no metric: give what a unit of work is, as calls, native or sampled");
}

bool BeginsWithTwoToTest(const v1::Experiment& request) {
  const auto is_tested = [](const v1::TargetGroup& group) {
    return RoleOf(group.role()) == GroupRole::kTested;
  };
  return request.groups_size() >= 2 && is_tested(request.groups(0)) && is_tested(request.groups(1));
}

absl::StatusOr<ExperimentPhase> PhaseOf(const v1::Experiment& request) {
  switch (request.phase()) {
    case v1::EXPERIMENT_PHASE_UNSPECIFIED:
    case v1::MAIN:
      return ExperimentPhase::kMain;
    case v1::CONFIRMATION:
      return ExperimentPhase::kConfirmation;
    default:
      return absl::InvalidArgumentError("phase: it must be MAIN or CONFIRMATION");
  }
}

absl::Status TakeWishes(const v1::Experiment& request, DelayMode mode, ExperimentWishes& wishes) {
  wishes.smallest_effect = request.smallest_effect();
  wishes.margin = OrDefault(request.margin(), wishes.margin);
  wishes.top_share = OrDefault(request.top_share(), wishes.top_share);
  wishes.lowest_throughput = OrDefault(request.lowest_throughput(), wishes.lowest_throughput);
  if (wishes.smallest_effect != 0)
    SB_RETURN_IF_ERROR(CheckShare("smallest_effect", wishes.smallest_effect, 0.001, 1));
  SB_RETURN_IF_ERROR(CheckShare("margin", wishes.margin, 0.001, 10));
  SB_RETURN_IF_ERROR(CheckShare("top_share", wishes.top_share, 0.001, 1));
  SB_RETURN_IF_ERROR(CheckShare("lowest_throughput", wishes.lowest_throughput, 0.01, 1));
  SB_RETURN_IF_ERROR(CheckTime("budget_ns", request.budget_ns(), kLongestExperimentNs));
  SB_RETURN_IF_ERROR(CheckTime("window_ns", request.window_ns(), 3'600'000'000'000));
  SB_RETURN_IF_ERROR(CheckTime("washout_ns", request.washout_ns(), 3'600'000'000'000));
  SB_RETURN_IF_ERROR(CheckTime("max_delay_ns", request.max_delay_ns(), LongestDelayNs(mode)));
  SB_RETURN_IF_ERROR(CheckTime("blocks", request.blocks(), kMostBlocksAsked));
  SB_RETURN_IF_ERROR(CheckTime("doses", request.doses(), kMostDosesAsked));
  SB_ASSIGN_OR_RETURN(wishes.phase, PhaseOf(request));
  wishes.budget_ns = request.budget_ns();
  wishes.fills_budget =
      request.budget_ns() != 0 && request.smallest_effect() == 0 && !request.budget_is_bound();
  wishes.most_delay_ns =
      request.max_delay_ns() == 0 ? LongestDelayNs(mode) : request.max_delay_ns();
  wishes.seed = request.seed() == 0 ? std::random_device{}() + 1ull : request.seed();
  wishes.asks_first = request.asks_first();
  wishes.controls = !request.no_controls();
  wishes.bare_every = request.bare_every() == 0 ? wishes.bare_every : request.bare_every();
  wishes.factorial = request.factorial();
  wishes.window_ns = request.window_ns();
  wishes.washout_ns = request.washout_ns();
  wishes.blocks = request.blocks();
  wishes.doses = request.doses();
  if (wishes.factorial && !BeginsWithTwoToTest(request))
    return absl::InvalidArgumentError("factorial: it takes two groups that are tested, the first");
  return absl::OkStatus();
}

v1::AttachRequest AttachOf(const v1::Experiment& request, const v1::TargetSelection& selection) {
  v1::AttachRequest attach = request.attach();
  *attach.mutable_selection() = selection;
  attach.clear_delay_ns();
  attach.clear_start_ns();
  attach.clear_duration_ns();
  attach.clear_spans();
  attach.clear_keep();
  if (attach.ttl_ns() == 0) {
    // Without a budget the pilot is not taken off what blocks may take.
    const uint64_t longest_ns = request.budget_ns() == 0
                                    ? 2 * kDefaultExperimentNs
                                    : request.budget_ns() + request.budget_ns() / 4;
    // What a policy's max_ttl judges. Stops and late windows take more than was planned; and the
    // plan is looked at for a while.
    attach.set_ttl_ns(longest_ns + 60'000'000'000 +
                      (request.asks_first() ? kLongestApprovalNs : 0));
  }
  return attach;
}

}  // namespace

absl::StatusOr<ExperimentRequest> ToExperiment(const v1::Experiment& request) {
  ExperimentRequest experiment;
  SB_ASSIGN_OR_RETURN(const Combined combined, Combine(request, experiment.groups));
  SB_RETURN_IF_ERROR(TakeMetric(request.metric(), combined, experiment));
  SB_ASSIGN_OR_RETURN(experiment.spec, ToSpec(AttachOf(request, combined.selection)));
  SB_RETURN_IF_ERROR(TakeWishes(request, experiment.spec.mode, experiment.wishes));
  TargetRules rules = Labelled(experiment.spec.rules, combined, experiment.groups);
  rules.arm = std::make_shared<const ArmInForce>(
      ArmInForce{.delay_ns = std::vector<uint64_t>(experiment.groups.size()),
                 .most_ns = experiment.wishes.most_delay_ns});
  experiment.spec.rules = rules;
  experiment.all.rules = std::move(rules);
  experiment.all.group_of = combined.GroupOf();
  experiment.bare = Bare(experiment.all, request.metric());
  return experiment;
}

}  // namespace sbump
