#include "daemon/rpc/to_spec.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "daemon/base/str_cat.h"
#include "daemon/match/native_pattern.h"
#include "daemon/match/pattern.h"
#include "daemon/rpc/module_query.h"
#include "daemon/rpc/wire_text.h"

namespace sbump {
namespace {

absl::Status CheckRange(std::string_view field, uint64_t value, uint64_t lowest, uint64_t highest) {
  if (value >= lowest && value <= highest) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(field, " is ", value, "; it must be from ", lowest, " to ", highest));
}

// Which of the two limits holds is known once the session is.
absl::Status CheckDelay(std::string_view field, uint64_t delay_ns) {
  return CheckRange(field, delay_ns, 0, kLongestSleepNs);
}

uint64_t OrDefault(uint64_t value, uint64_t fallback) { return value == 0 ? fallback : value; }

absl::StatusOr<Pattern> ToPattern(const v1::TargetPattern& message) {
  absl::StatusOr<Pattern> pattern = ParsePattern(message.pattern());
  if (!pattern.ok())
    return Annotate(pattern.status(), StrCat("pattern \"", message.pattern(), "\""));
  if (message.has_delay_ns()) pattern->delay_ns = message.delay_ns();
  if (message.has_every()) {
    SB_RETURN_IF_ERROR(CheckRange("every", message.every(), 1, UINT32_MAX));
    pattern->every = static_cast<uint32_t>(message.every());
  }
  if (pattern->delay_ns)
    SB_RETURN_IF_ERROR(CheckDelay(StrCat("delay of ", message.pattern()), *pattern->delay_ns));
  return pattern;
}

// What a message says over what the text itself said.
template <typename Message>
absl::Status TakeOverrides(const Message& message, const std::string& text, Overrides& overrides) {
  if (message.has_delay_ns()) overrides.delay_ns = message.delay_ns();
  if (message.has_every()) {
    SB_RETURN_IF_ERROR(CheckRange("every", message.every(), 1, UINT32_MAX));
    overrides.every = static_cast<uint32_t>(message.every());
  }
  if (!overrides.delay_ns) return absl::OkStatus();
  return CheckDelay(StrCat("delay of ", text), *overrides.delay_ns);
}

absl::StatusOr<NativePattern> ToNativePattern(const v1::NativeTarget& message) {
  absl::StatusOr<NativePattern> pattern = ParseNativePattern(message.target());
  if (!pattern.ok())
    return Annotate(pattern.status(), StrCat("native target \"", message.target(), "\""));
  SB_RETURN_IF_ERROR(TakeOverrides(message, message.target(), pattern->overrides));
  return pattern;
}

absl::StatusOr<ModuleTarget> ToModuleTarget(const v1::ModuleTarget& message) {
  SB_ASSIGN_OR_RETURN(ModuleTarget target, ParseModuleTarget(message.pattern()));
  SB_RETURN_IF_ERROR(TakeOverrides(message, message.pattern(), target.overrides));
  return target;
}

constexpr int kMaxPatterns = 100'000;
constexpr int kMaxNativePatterns = 128;
constexpr int kMaxModuleTargets = 1000;
constexpr size_t kMaxSelectorBytes = 4096;

absl::Status TakeProcesses(const v1::AttachRequest& request, AttachSpec& spec) {
  const v1::ProcessSelector& selector = request.selector();
  spec.selector = {.container = selector.container(),
                   .cgroup = selector.cgroup(),
                   .exe = selector.exe(),
                   .cmdline = selector.cmdline()};
  if (selector.ByteSizeLong() > kMaxSelectorBytes)
    return absl::InvalidArgumentError(
        StrCat("the selector has more than ", kMaxSelectorBytes, " bytes"));
  if (request.pid() != 0 && !spec.selector.empty())
    return absl::InvalidArgumentError("pid and selector exclude each other");
  if (request.pid() <= 0 && spec.selector.empty())
    return absl::InvalidArgumentError(StrCat("pid is ", request.pid(), "; it must be positive"));
  spec.pid = request.pid();
  spec.children = request.children();
  spec.max_processes =
      static_cast<uint32_t>(OrDefault(request.max_processes(), kDefaultMaxProcesses));
  return CheckRange("max_processes", spec.max_processes, 1, kLargestMaxProcesses);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TargetList>> ToTargets(const v1::TargetSelection& selection) {
  if (selection.patterns().empty() && selection.native().empty() && selection.modules().empty()) {
    return absl::InvalidArgumentError(
        "no patterns: give at least one module_pattern:qualname_pattern, a native target, or a "
        "module");
  }
  if (selection.patterns_size() > kMaxPatterns || selection.exclude_size() > kMaxPatterns) {
    return absl::InvalidArgumentError(StrCat("more than ", kMaxPatterns, " patterns"));
  }
  std::vector<Pattern> patterns, excludes;
  for (const v1::TargetPattern& message : selection.patterns()) {
    SB_ASSIGN_OR_RETURN(Pattern pattern, ToPattern(message));
    patterns.push_back(std::move(pattern));
  }
  for (const std::string& text : selection.exclude()) {
    absl::StatusOr<Pattern> exclude = ParseExclude(text);
    if (!exclude.ok()) return Annotate(exclude.status(), StrCat("exclude \"", text, "\""));
    excludes.push_back(*std::move(exclude));
  }
  return std::make_shared<const TargetList>(std::move(patterns), std::move(excludes),
                                            selection.paths_only());
}

absl::StatusOr<std::shared_ptr<const NativeList>> ToNatives(const v1::TargetSelection& selection) {
  if (selection.native_size() > kMaxNativePatterns) {
    return absl::InvalidArgumentError(StrCat("more than ", kMaxNativePatterns, " native targets"));
  }
  NativeList patterns;
  for (const v1::NativeTarget& message : selection.native()) {
    SB_ASSIGN_OR_RETURN(NativePattern pattern, ToNativePattern(message));
    patterns.push_back(std::move(pattern));
  }
  return std::make_shared<const NativeList>(std::move(patterns));
}

namespace {

absl::StatusOr<std::vector<ModulePattern>> ToModulePatterns(
    std::string_view field, const google::protobuf::RepeatedPtrField<std::string>& texts) {
  if (texts.size() > kMaxModuleTargets) {
    return absl::InvalidArgumentError(
        StrCat(field, ": more than ", kMaxModuleTargets, " patterns"));
  }
  std::vector<ModulePattern> patterns;
  for (const std::string& text : texts) {
    absl::StatusOr<ModulePattern> pattern = ModulePattern::Compile(text);
    if (!pattern.ok()) return Annotate(pattern.status(), StrCat(field, " \"", text, "\""));
    patterns.push_back(*std::move(pattern));
  }
  return patterns;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ModuleList>> ToModules(const v1::TargetSelection& selection) {
  if (selection.modules_size() > kMaxModuleTargets)
    return absl::InvalidArgumentError(StrCat("more than ", kMaxModuleTargets, " module targets"));
  ModuleList list;
  SB_RETURN_IF_ERROR(TakeTree(
      selection.module_root(),
      selection.has_module_prefix() ? std::optional(selection.module_prefix()) : std::nullopt,
      list.query));
  SB_RETURN_IF_ERROR(TakeCallables(selection.module_callables(),
                                   selection.no_default_module_callables(), list.query));
  for (const v1::ModuleTarget& message : selection.modules()) {
    SB_ASSIGN_OR_RETURN(ModuleTarget target, ToModuleTarget(message));
    list.targets.push_back(std::move(target));
  }
  SB_ASSIGN_OR_RETURN(list.excludes,
                      ToModulePatterns("module_exclude", selection.module_exclude()));
  return std::make_shared<const ModuleList>(std::move(list));
}

namespace {

absl::Status TakeSpans(const v1::AttachRequest& request, AttachSpec& spec) {
  if (!request.has_spans()) return absl::OkStatus();
  if (spec.rules.modules->targets.empty())
    return absl::InvalidArgumentError("spans: the selection has no modules");
  if (spec.mode == DelayMode::kSleep) {
    return absl::InvalidArgumentError(
        "spans: not with mode SLEEP, whose delays end after the call has begun");
  }
  spec.spans.emplace();
  SB_ASSIGN_OR_RETURN(spec.spans->skip_types, ToSkipTypes(request.spans().skip_types(),
                                                          request.spans().no_default_skip_types()));
  spec.spans->shapes = !request.spans().no_shapes();
  spec.spans->operators = request.spans().operators();
  if (spec.spans->operators && !spec.spans->shapes)
    return absl::InvalidArgumentError("spans.operators: not with no_shapes");
  SB_ASSIGN_OR_RETURN(spec.spans->patterns,
                      ToModulePatterns("spans.modules", request.spans().modules()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AttachSpec> ToSpec(const v1::AttachRequest& request) {
  AttachSpec spec;
  SB_RETURN_IF_ERROR(TakeProcesses(request, spec));
  SB_ASSIGN_OR_RETURN(spec.rules.targets, ToTargets(request.selection()));
  SB_ASSIGN_OR_RETURN(spec.rules.natives, ToNatives(request.selection()));
  SB_ASSIGN_OR_RETURN(spec.rules.modules, ToModules(request.selection()));
  SB_RETURN_IF_ERROR(CheckRange("every", request.every(), 0, UINT32_MAX));
  spec.rules.dose = {.delay_ns = request.delay_ns(), .every = OrDefault(request.every(), 1)};
  spec.mode = request.mode() == v1::SLEEP ? DelayMode::kSleep : DelayMode::kSpin;
  spec.on = request.on() == v1::RESUME ? HitOn::kResume : HitOn::kCall;
  SB_RETURN_IF_ERROR(CheckDelays(spec.mode, spec.rules));
  SB_RETURN_IF_ERROR(TakeSpans(request, spec));
  spec.interval_ns = OrDefault(request.interval_ns(), kDefaultIntervalNs);
  SB_RETURN_IF_ERROR(
      CheckRange("interval_ns", spec.interval_ns, kMinIntervalNs, 3'600'000'000'000));
  spec.max_stop_ns = OrDefault(request.max_stop_ns(), kDefaultMaxStopNs);
  SB_RETURN_IF_ERROR(CheckRange("max_stop_ns", spec.max_stop_ns, 1'000'000, kLargestMaxStopNs));
  spec.ttl_ns = OrDefault(request.ttl_ns(), kDefaultTtlNs);
  SB_RETURN_IF_ERROR(CheckRange("ttl_ns", spec.ttl_ns, 1'000'000, kLargestTtlNs));
  SB_RETURN_IF_ERROR(CheckRange("start_ns", request.start_ns(), 0, kLargestTtlNs));
  SB_RETURN_IF_ERROR(CheckRange("duration_ns", request.duration_ns(), 0, kLargestTtlNs));
  SB_RETURN_IF_ERROR(CheckRange("max_duty_percent", request.max_duty_percent(), 0, 100'000));
  SB_RETURN_IF_ERROR(CheckRange("max_hold_ns", request.max_hold_ns(), 0, 1'000'000'000));
  spec.guardrails = {.calls_per_second = request.max_calls_per_second(),
                     .duty_percent = request.max_duty_percent(),
                     .hold_ns = request.max_hold_ns()};
  // They are judged with each update.
  if (spec.guardrails.Any())
    spec.interval_ns = std::min(spec.interval_ns, kLargestGuardedIntervalNs);
  spec.start_ns = request.start_ns();
  spec.duration_ns = request.duration_ns();
  spec.keep = request.keep();
  spec.client_name = Utf8(request.client_name().substr(0, 200));
  if (spec.client_name.empty()) spec.client_name = "an unnamed client";
  return spec;
}

absl::StatusOr<RulesChange> ToChange(const v1::UpdateRequest& request) {
  RulesChange change;
  if (request.has_delay_ns()) {
    SB_RETURN_IF_ERROR(CheckDelay("delay_ns", request.delay_ns()));
    change.delay_ns = request.delay_ns();
  }
  if (request.has_every()) {
    SB_RETURN_IF_ERROR(CheckRange("every", request.every(), 0, UINT32_MAX));
    change.every = OrDefault(request.every(), 1);
  }
  if (request.has_selection()) {
    SB_ASSIGN_OR_RETURN(change.targets, ToTargets(request.selection()));
    SB_ASSIGN_OR_RETURN(change.natives, ToNatives(request.selection()));
    SB_ASSIGN_OR_RETURN(change.modules, ToModules(request.selection()));
  }
  if (!change.delay_ns && !change.every && change.targets == nullptr) {
    return absl::InvalidArgumentError("nothing to change: give delay_ns, every or a selection");
  }
  return change;
}

}  // namespace sbump
