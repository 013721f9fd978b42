#include "daemon/estimate/estimate_to_proto.h"

#include <algorithm>

namespace sbump {
namespace {

template <typename Texts>
void AddTexts(const Texts& from, google::protobuf::RepeatedPtrField<std::string>& to) {
  for (const auto& text : from) *to.Add() = text;
}

void Fill(const GroupEstimate& group, v1::GroupResult& message) {
  message.set_name(group.name);
  message.set_role(ToProto(group.role));
  message.set_criticality(group.criticality);
  if (group.interval) {
    message.set_ci_low(group.interval->low);
    message.set_ci_high(group.interval->high);
  }
  message.set_verdict(ToProto(group.verdict));
  message.set_why(group.why);
  message.set_p(group.p);
  message.set_p_adjusted(group.adjusted_p);
  message.set_p_familywise(group.simultaneous_p);
  message.set_hits_per_unit(group.hits_per_unit);
  message.set_injected_ns_per_unit(group.top_injected_ns_per_unit);
  if (group.gain_at_most_per_ns) message.set_most_gain_per_ns(*group.gain_at_most_per_ns);
  message.set_blocks(static_cast<uint32_t>(group.blocks_used));
  if (group.blocks_needed) {
    const size_t more = *group.blocks_needed - std::min(*group.blocks_needed, group.blocks_used);
    message.set_more_blocks(static_cast<uint32_t>(more));
  }
  message.set_lost_windows(!group.lost_windows.empty());
  message.set_seldom_functions(static_cast<uint32_t>(group.seldom_functions));
  AddTexts(group.warnings, *message.mutable_warnings());
  if (!group.slack || !group.slack->claimed) return;
  message.set_slack_ns(group.slack->slack_ns);
  message.set_slack_low_ns(group.slack->interval.low);
  if (!group.slack->high_is_open) message.set_slack_high_ns(group.slack->interval.high);
}

void Fill(const Intrusion& intrusion, v1::ExperimentResult& message) {
  message.set_intrusion(intrusion.share);
  const std::optional<Interval>& interval_ns = intrusion.ns_per_unit.interval;
  if (!interval_ns) return;
  message.set_intrusion_low(interval_ns->low / intrusion.unprobed_ns);
  message.set_intrusion_high(interval_ns->high / intrusion.unprobed_ns);
}

v1::Additivity ToProto(Additivity additivity) {
  switch (additivity) {
    case Additivity::kAdditive:
      return v1::ADDITIVE;
    case Additivity::kSubAdditive:
      return v1::SUB_ADDITIVE;
    case Additivity::kSuperAdditive:
      return v1::SUPER_ADDITIVE;
    case Additivity::kUndecided:
      return v1::NOT_DECIDED;
  }
  return v1::ADDITIVITY_UNSPECIFIED;
}

void Fill(const PairEffect& pair, v1::PairResult& message) {
  message.set_first(pair.first);
  message.set_second(pair.second);
  message.set_interaction(pair.interaction.estimate);
  if (pair.interaction.interval) {
    message.set_ci_low(pair.interaction.interval->low);
    message.set_ci_high(pair.interaction.interval->high);
  }
  message.set_additivity(ToProto(pair.additivity));
  message.set_why(pair.words);
}

ArmKind KindOf(v1::ArmKind kind) {
  switch (kind) {
    case v1::SHAM:
      return ArmKind::kSham;
    case v1::BARE:
      return ArmKind::kUnprobed;
    default:
      return ArmKind::kDose;
  }
}

Window WindowOf(const v1::RecordedWindow& message) {
  Window window = {.block = message.block(),
                   .arm = message.arm(),
                   .begin_ns = message.begin_ns(),
                   .end_ns = message.end_ns(),
                   .units = message.units(),
                   .work_ns = message.work_ns(),
                   .units_in_all = message.units_in_all(),
                   .ticks = message.ticks(),
                   .wanted_ns = message.wanted_ns(),
                   .stolen_ns = message.stolen_ns(),
                   .flaw = message.flaw()};
  for (const v1::GroupFigures& group : message.groups())
    window.groups.push_back({.hits = group.hits(),
                             .delayed_hits = group.delayed_hits(),
                             .injected_ns = group.injected_ns()});
  return window;
}

}  // namespace

v1::GroupRole ToProto(GroupRole role) {
  switch (role) {
    case GroupRole::kTested:
      return v1::TESTED;
    case GroupRole::kPositiveControl:
      return v1::POSITIVE_CONTROL;
    case GroupRole::kNegativeControl:
      return v1::NEGATIVE_CONTROL;
  }
  return v1::GROUP_ROLE_UNSPECIFIED;
}

GroupRole RoleOf(v1::GroupRole role) {
  switch (role) {
    case v1::POSITIVE_CONTROL:
      return GroupRole::kPositiveControl;
    case v1::NEGATIVE_CONTROL:
      return GroupRole::kNegativeControl;
    default:
      return GroupRole::kTested;
  }
}

v1::ArmKind ToProto(ArmKind kind) {
  switch (kind) {
    case ArmKind::kSham:
      return v1::SHAM;
    case ArmKind::kDose:
      return v1::DOSE;
    case ArmKind::kUnprobed:
      return v1::BARE;
  }
  return v1::ARM_KIND_UNSPECIFIED;
}

v1::Verdict ToProto(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMatters:
      return v1::MATTERS;
    case Verdict::kDoesNotMatter:
      return v1::DOES_NOT_MATTER;
    case Verdict::kUndecided:
      return v1::UNDECIDED;
    case Verdict::kInvalid:
      return v1::INVALID;
  }
  return v1::VERDICT_UNSPECIFIED;
}

v1::RecordedWindow ToProto(const Window& window) {
  v1::RecordedWindow message;
  message.set_block(window.block);
  message.set_arm(window.arm);
  message.set_begin_ns(window.begin_ns);
  message.set_end_ns(window.end_ns);
  message.set_units(window.units);
  message.set_work_ns(window.work_ns);
  message.set_units_in_all(window.units_in_all);
  for (const GroupFigures& from : window.groups) {
    v1::GroupFigures& group = *message.add_groups();
    group.set_hits(from.hits);
    group.set_delayed_hits(from.delayed_hits);
    group.set_injected_ns(from.injected_ns);
  }
  message.set_ticks(window.ticks);
  message.set_flaw(window.flaw);
  message.set_wanted_ns(window.wanted_ns);
  message.set_stolen_ns(window.stolen_ns);
  return message;
}

v1::ExperimentResult ToProto(const RunEstimate& estimate, bool is_partial) {
  v1::ExperimentResult message;
  for (const GroupEstimate& group : estimate.groups) Fill(group, *message.add_results());
  message.set_invalid(estimate.invalid);
  message.set_partial(is_partial);
  if (estimate.intrusion) Fill(*estimate.intrusion, message);
  for (const PairEffect& pair : estimate.pairs) Fill(pair, *message.add_pairs());
  AddTexts(estimate.warnings, *message.mutable_warnings());
  message.set_whole(estimate.whole);
  message.set_felt(estimate.felt);
  message.set_steal_share(estimate.steal_share);
  return message;
}

Recording RecordingOf(const v1::ExperimentPlan& plan,
                      std::span<const v1::RecordedWindow* const> windows) {
  Recording recording;
  for (const v1::ExperimentPlan::Group& group : plan.groups())
    recording.groups.push_back(
        {.name = group.name(),
         .role = RoleOf(group.role()),
         .seldom_shares = {group.seldom_shares().begin(), group.seldom_shares().end()}});
  for (const v1::Arm& arm : plan.arms())
    recording.arms.push_back({.kind = KindOf(arm.kind()),
                              .delay_ns = {arm.delay_ns().begin(), arm.delay_ns().end()},
                              .every = {arm.every().begin(), arm.every().end()}});
  for (const v1::RecordedWindow* window : windows) recording.windows.push_back(WindowOf(*window));
  return recording;
}

}  // namespace sbump
