#include "daemon/session/attach_spec.h"

#include <algorithm>
#include <utility>

#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

absl::Status CheckDelay(DelayMode mode, std::string_view what, std::optional<uint64_t> delay_ns) {
  const uint64_t longest_ns = LongestDelayNs(mode);
  if (delay_ns.value_or(0) <= longest_ns) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(
      what, " is ", FormatDuration(*delay_ns), "; the longest is ", FormatDuration(longest_ns),
      mode == DelayMode::kSpin
          ? " in spin mode, which burns CPU in the process: longer ones need --mode sleep"
          : ""));
}

absl::Status CheckDelays(DelayMode mode, std::optional<uint64_t> delay_ns,
                         const TargetList* targets, const NativeList* natives,
                         const ModuleList* modules) {
  SB_RETURN_IF_ERROR(CheckDelay(mode, "the delay", delay_ns));
  if (targets != nullptr) {
    for (const Pattern& pattern : targets->patterns())
      SB_RETURN_IF_ERROR(CheckDelay(mode, StrCat("the delay of ", pattern.text), pattern.delay_ns));
  }
  if (natives != nullptr) {
    for (const NativePattern& pattern : *natives) {
      SB_RETURN_IF_ERROR(
          CheckDelay(mode, StrCat("the delay of ", pattern.text), pattern.overrides.delay_ns));
    }
  }
  if (modules != nullptr) {
    for (const ModuleTarget& target : modules->targets) {
      SB_RETURN_IF_ERROR(
          CheckDelay(mode, StrCat("the delay of ", target.text), target.overrides.delay_ns));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckDelays(DelayMode mode, const TargetRules& rules) {
  return CheckDelays(mode, rules.dose.delay_ns, rules.targets.get(), rules.natives.get(),
                     rules.modules.get());
}

TargetRules Changed(TargetRules rules, const RulesChange& change) {
  if (change.targets != nullptr) rules.targets = change.targets;
  if (change.natives != nullptr) rules.natives = change.natives;
  if (change.modules != nullptr) rules.modules = change.modules;
  rules.dose.delay_ns = change.delay_ns.value_or(rules.dose.delay_ns);
  rules.dose.every = change.every.value_or(rules.dose.every);
  if (change.arm != nullptr) rules.arm = change.arm;
  return rules;
}

TargetRules TargetRules::AtMost() const {
  TargetRules rules = *this;
  if (arm == nullptr) return rules;
  auto most = std::make_shared<ArmInForce>(*arm);
  std::ranges::fill(most->delay_ns, arm->most_ns);
  rules.arm = std::move(most);
  return rules;
}

absl::Status CheckArm(const TargetRules& rules, const RulesChange& change) {
  if (change.arm == nullptr) {
    if (rules.arm == nullptr) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "the session is an experiment's, whose targets and delays are its own: end it "
        "(`sbumpctl detach`), or leave it alone");
  }
  if (rules.arm == nullptr) return absl::InvalidArgumentError("the session is no experiment's");
  const ArmInForce& arm = *change.arm;
  if (!arm.every.empty() && arm.every.size() != arm.delay_ns.size())
    return absl::InvalidArgumentError("an arm that has `every` for some groups only");
  if (arm.delay_ns.size() != rules.arm->delay_ns.size() || arm.most_ns != rules.arm->most_ns)
    return absl::InvalidArgumentError("an arm of another experiment");
  if (std::ranges::any_of(arm.delay_ns, [&](uint64_t ns) { return ns > arm.most_ns; })) {
    return absl::InvalidArgumentError(StrCat("an arm's delay is above ",
                                             FormatDuration(arm.most_ns),
                                             ", the most that the experiment asked for"));
  }
  return absl::OkStatus();
}

absl::Status CheckDelays(DelayMode mode, const RulesChange& change) {
  return CheckDelays(mode, change.delay_ns, change.targets.get(), change.natives.get(),
                     change.modules.get());
}

}  // namespace sbump
