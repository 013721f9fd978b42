#include "daemon/rpc/experiment_to_proto.h"

#include "daemon/estimate/estimate_to_proto.h"
#include "daemon/rpc/wire_text.h"

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
    case ExperimentPhase::kConfirmation:
      return v1::CONFIRMATION;
  }
  return v1::EXPERIMENT_PHASE_UNSPECIFIED;
}

template <typename Texts>
void AddTexts(const Texts& from, google::protobuf::RepeatedPtrField<std::string>& to) {
  for (const auto& text : from) *to.Add() = Utf8(text);
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
    group.set_targets(plan.facts[i].functions);
    group.set_hits_per_unit(plan.facts[i].hits_per_unit);
    group.set_left_out(Utf8(plan.facts[i].left_out));
    const std::vector<double>& shares = plan.groups[i].seldom_shares;
    group.mutable_seldom_shares()->Add(shares.begin(), shares.end());
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
  message.set_variation(plan.variation);
  message.set_lag1(plan.lag1);
  message.set_settle_ns(plan.settle_ns);
  AddTexts(plan.warnings, *message.mutable_warnings());
  message.set_phase(ToProto(plan.phase));
  return message;
}

v1::RecordedWindow ToProto(ExperimentPhase phase, const Window& window) {
  v1::RecordedWindow message = ToProto(window);
  message.set_phase(ToProto(phase));
  return message;
}

v1::ExperimentResult ToProto(const ExperimentAnswer& answer) {
  v1::ExperimentResult message = ToProto(answer.estimate, answer.is_partial);
  message.set_phase(ToProto(answer.phase));
  return message;
}

}  // namespace sbump
