// libFuzzer over requests as they come from the wire: a message that protobuf takes becomes a
// checked value within the documented limits, or a refusal, and what is recorded of it is one line
// of JSON.
#include <cstdint>
#include <string>

#include "daemon/audit/audit_log.h"
#include "daemon/base/utf8.h"
#include "daemon/rpc/modules_to_proto.h"
#include "daemon/rpc/modules_watcher.h"
#include "daemon/rpc/to_experiment.h"
#include "daemon/rpc/to_spec.h"
#include "tests/fuzz/one_of.h"
#include "tests/fuzz/require.h"

namespace {

namespace v1 = sbump::v1;

using sbump::Require;
using sbump::With;

// Records are read by programs that trust them.
void CheckRecord(const sbump::AuditRecord& record) {
  const std::string line = sbump::ToJsonLine(record, 1);
  Require(sbump::IsStrictUtf8(line) && line.find('\n') == line.size() - 1);
}

void CheckTargets(const sbump::TargetList& targets,
                  uint64_t longest_delay_ns = sbump::kLongestSleepNs) {
  Require(targets.patterns().size() <= 100'000);
  for (const sbump::Pattern& pattern : targets.patterns()) {
    Require(pattern.delay_ns.value_or(0) <= longest_delay_ns);
    Require(pattern.every.value_or(1) >= 1);
  }
}

void CheckAttach(const v1::AttachRequest& request) {
  const absl::StatusOr<sbump::AttachSpec> spec = sbump::ToSpec(request);
  if (!spec.ok())
    return Require(absl::IsInvalidArgument(spec.status()) ||
                   absl::IsResourceExhausted(spec.status()));
  const uint64_t longest_delay_ns = sbump::LongestDelayNs(spec->mode);
  Require((spec->pid > 0) == spec->selector.empty());
  Require(spec->rules.dose.delay_ns <= longest_delay_ns);
  Require(spec->rules.dose.every >= 1 && spec->interval_ns >= sbump::kMinIntervalNs);
  Require(spec->ttl_ns > 0 && spec->ttl_ns <= sbump::kLargestTtlNs);
  Require(spec->max_stop_ns > 0 && spec->max_stop_ns <= sbump::kLargestMaxStopNs);
  Require(!spec->rules.targets->patterns().empty() || !spec->rules.natives->empty() ||
          !spec->rules.modules->targets.empty());
  CheckTargets(*spec->rules.targets, longest_delay_ns);
  for (const sbump::NativePattern& native : *spec->rules.natives)
    Require(native.overrides.delay_ns.value_or(0) <= longest_delay_ns);
  for (const sbump::ModuleTarget& module : spec->rules.modules->targets)
    Require(module.overrides.delay_ns.value_or(0) <= longest_delay_ns);
  sbump::AuditRecord record{.event = "attach", .session = spec->client_name};
  for (const v1::TargetPattern& one : request.selection().patterns())
    record.rules.push_back({.pattern = one.pattern(), .delay_ns = one.delay_ns()});
  CheckRecord(record);
}

void CheckUpdate(const v1::UpdateRequest& request) {
  const absl::StatusOr<sbump::RulesChange> change = sbump::ToChange(request);
  if (!change.ok()) return;
  Require(change->delay_ns.value_or(0) <= sbump::kLongestSleepNs && change->every.value_or(1) >= 1);
  if (change->targets != nullptr) CheckTargets(*change->targets);
}

void CheckMatch(const v1::MatchRequest& request) {
  const auto targets = sbump::ToTargets(request.selection());
  if (targets.ok()) CheckTargets(**targets);
  const auto natives = sbump::ToNatives(request.selection());
  Require(!natives.ok() || (*natives)->size() <= 128);
}

void CheckModules(const v1::ListModulesRequest& request) {
  const absl::StatusOr<sbump::ModulesSpec> spec = sbump::ToSpec(request);
  if (!spec.ok()) return Require(absl::IsInvalidArgument(spec.status()));
  Require(spec->max_stop_ns <= sbump::kLargestMaxStopNs);
  sbump::Module module{.path = request.prefix(), .base_types = {request.root()}};
  sbump::ModulesResult result;
  result.forest.trees.push_back({{module}});
  for (const v1::ListModulesReply& reply : sbump::ToReplies(result, *spec))
    Require(reply.modules_size() <= 1);
}

void CheckWatchModules(const v1::WatchModulesRequest& request) {
  const absl::StatusOr<uint64_t> interval_ns = sbump::ToLookInterval(request);
  Require(!interval_ns.ok() || *interval_ns >= sbump::kMinIntervalNs);
  CheckModules(request.tree());
}

void CheckExperiment(const v1::RunRequest& request) {
  const absl::StatusOr<sbump::ExperimentRequest> experiment = sbump::ToExperiment(request.begin());
  if (!experiment.ok()) return Require(absl::IsInvalidArgument(experiment.status()));
  const size_t groups = experiment->groups.size();
  Require(groups >= 1 && groups <= static_cast<size_t>(sbump::kMostGroupsAsked) + 1);
  const sbump::TargetRules& rules = experiment->all.rules;
  CheckTargets(*rules.targets, sbump::kLongestSleepNs);
  Require(rules.arm->delay_ns.size() == groups && rules.arm->most_ns <= sbump::kLongestSleepNs);
  Require(experiment->all.group_of.size() ==
          rules.targets->patterns().size() + rules.natives->size() + rules.modules->targets.size());
  for (const uint32_t group : experiment->all.group_of) Require(group < groups);
  Require(experiment->wishes.top_share > 0 && experiment->wishes.top_share <= 1);
}

template <typename Request>
void CheckSessionId(const Request& request) {
  const std::string& id = request.session_id();
  CheckRecord({.event = "detach", .session = id, .reason = id});
}

// There is nothing in it but a pid, or nothing at all.
template <typename Request>
void Take(const Request&) {}

constexpr sbump::Trial kTrials[] = {
    With<v1::AttachRequest, CheckAttach>,
    With<v1::UpdateRequest, CheckUpdate>,
    With<v1::MatchRequest, CheckMatch>,
    With<v1::DetachRequest, CheckSessionId<v1::DetachRequest>>,
    With<v1::WatchRequest, CheckSessionId<v1::WatchRequest>>,
    With<v1::InspectRequest, Take<v1::InspectRequest>>,
    With<v1::ListSessionsRequest, Take<v1::ListSessionsRequest>>,
    With<v1::ListModulesRequest, CheckModules>,
    With<v1::WatchModulesRequest, CheckWatchModules>,
    With<v1::WatchSpansRequest, CheckSessionId<v1::WatchSpansRequest>>,
    With<v1::GetInfoRequest, Take<v1::GetInfoRequest>>,
    With<v1::RunRequest, CheckExperiment>,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return sbump::TryOneOf(kTrials, data, size);
}
