#include "daemon/rpc/experiment_to_proto.h"

#include <algorithm>

namespace sbump {
namespace {

v1::ExperimentPhase ToProto(ExperimentPhase phase) {
  switch (phase) {
    case ExperimentPhase::kPreflight:
      return v1::PREFLIGHT;
    case ExperimentPhase::kPilot:
      return v1::PILOT;
    case ExperimentPhase::kMain:
      return v1::MAIN;
  }
  return v1::EXPERIMENT_PHASE_UNSPECIFIED;
}

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

template <typename Texts>
void AddTexts(const Texts& from, google::protobuf::RepeatedPtrField<std::string>& to) {
  for (const auto& text : from) *to.Add() = text;
}

void ToProto(const GroupEstimate& group, v1::GroupResult& message) {
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
  message.set_hits_per_unit(group.hits_per_unit);
  message.set_injected_ns_per_unit(group.top_injected_ns_per_unit);
  message.set_most_gain_per_ns(group.gain_at_most_per_ns);
  message.set_blocks(static_cast<uint32_t>(group.blocks_used));
  if (group.blocks_needed) {
    const size_t more = *group.blocks_needed - std::min(*group.blocks_needed, group.blocks_used);
    message.set_more_blocks(static_cast<uint32_t>(more));
  }
  AddTexts(group.warnings, *message.mutable_warnings());
}

}  // namespace

v1::ExperimentProgress ToProto(const ExperimentProgress& progress) {
  v1::ExperimentProgress message;
  message.set_phase(ToProto(progress.phase));
  message.set_windows_done(static_cast<uint32_t>(progress.windows_done));
  message.set_windows_in_all(static_cast<uint32_t>(progress.windows_in_all));
  message.set_remaining_ns(progress.remaining_ns);
  return message;
}

v1::ExperimentPlan ToProto(const ExperimentPlan& plan) {
  v1::ExperimentPlan message;
  for (size_t i = 0; i < plan.groups.size(); ++i) {
    v1::ExperimentPlan::Group& group = *message.add_groups();
    group.set_name(plan.groups[i].name);
    group.set_role(ToProto(plan.groups[i].role));
    group.set_hits_per_unit(plan.facts[i].hits_per_unit);
    group.set_left_out(plan.facts[i].left_out);
  }
  for (const Arm& from : plan.arms) {
    v1::Arm& arm = *message.add_arms();
    arm.set_kind(ToProto(from.kind));
    arm.mutable_delay_ns()->Add(from.delay_ns.begin(), from.delay_ns.end());
    arm.mutable_every()->Add(from.every.begin(), from.every.end());
  }
  message.set_blocks(static_cast<uint32_t>(plan.order.size()));
  message.set_window_ns(plan.window_ns);
  message.set_washout_ns(plan.washout_ns);
  message.set_duration_ns(plan.duration_ns);
  message.set_mean_slowdown(plan.mean_slowdown);
  message.set_peak_slowdown(plan.peak_slowdown);
  message.set_seed(plan.seed);
  message.set_unit_ns(plan.unit_ns);
  message.set_variation(plan.noise.cv);
  message.set_lag1(plan.noise.lag1);
  message.set_settle_ns(plan.settle_ns);
  AddTexts(plan.warnings, *message.mutable_warnings());
  message.set_phase(v1::MAIN);
  return message;
}

v1::RecordedWindow ToProto(ExperimentPhase phase, const Window& window) {
  v1::RecordedWindow message;
  message.set_phase(ToProto(phase));
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
  message.set_flaw(window.flaw);
  return message;
}

v1::ExperimentResult ToProto(const ExperimentAnswer& answer) {
  v1::ExperimentResult message;
  const RunEstimate& estimate = answer.estimate;
  for (const GroupEstimate& group : estimate.groups) ToProto(group, *message.add_results());
  message.set_invalid(estimate.invalid);
  message.set_partial(answer.is_partial);
  if (estimate.intrusion) message.set_intrusion(estimate.intrusion->share);
  AddTexts(estimate.warnings, *message.mutable_warnings());
  message.set_phase(v1::MAIN);
  return message;
}

}  // namespace sbump
