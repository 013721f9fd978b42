#include "daemon/rpc/to_proto.h"

#include <algorithm>
#include <utility>

#include "daemon/base/str_cat.h"
#include "daemon/match/utf8.h"

namespace sbump {
namespace {

constexpr size_t kBytesPerMessage = size_t{1} << 20;

// protobuf strings must be UTF-8: what is none (a lone surrogate in a name) becomes U+FFFD.
std::string Utf8(std::string_view text) {
  if (IsStrictUtf8(text)) return std::string(text);
  std::string clean;
  while (!text.empty()) {
    size_t length = 1;
    while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80)
      ++length;
    clean +=
        IsStrictUtf8(text.substr(0, length)) ? std::string(text.substr(0, length)) : "\xEF\xBF\xBD";
    text.remove_prefix(length);
  }
  return clean;
}

v1::PatternStatus ToProto(PatternStatus status) {
  switch (status) {
    case PatternStatus::kMatched:
      return v1::MATCHED;
    case PatternStatus::kNoMatch:
      return v1::NO_MATCH;
    case PatternStatus::kNoCalls:
      return v1::NO_CALLS;
    case PatternStatus::kAmbiguous:
      return v1::AMBIGUOUS;
  }
  return v1::PATTERN_STATUS_UNSPECIFIED;
}

uint64_t ToUnix(const Snapshot& snapshot, uint64_t monotonic_ns) {
  return monotonic_ns == 0 ? 0 : snapshot.unix_ns - (snapshot.monotonic_ns - monotonic_ns);
}

void FillTarget(const Snapshot& snapshot, size_t row, v1::TargetStats& target) {
  const RowInfo& info = *snapshot.rows[row];
  const RowCounters& counters = snapshot.counters[row];
  if (info.pattern < snapshot.patterns.size())
    target.set_pattern(Utf8(snapshot.patterns[info.pattern].pattern));
  target.set_filename(Utf8(info.filename));
  target.set_qualname(Utf8(info.qualname));
  target.set_first_line(info.first_line);
  target.set_calls(counters.calls);
  target.set_delayed_calls(counters.delayed_calls);
  target.set_requested_delay_ns(counters.requested_delay_ns);
  target.set_injected_delay_ns(counters.injected_delay_ns);
  target.set_missed_calls(counters.missed_calls);
  target.mutable_overshoot()->set_p50_ns(counters.overshoot.p50_ns);
  target.mutable_overshoot()->set_p99_ns(counters.overshoot.p99_ns);
  target.set_threads_seen(counters.threads_seen);
  target.set_first_hit_unix_ns(ToUnix(snapshot, counters.first_hit_ns));
  target.set_last_hit_unix_ns(ToUnix(snapshot, counters.last_hit_ns));
  target.set_qualname_source(info.qualname_source);
  for (const std::string& name : info.module_names) target.add_module_names(Utf8(name));
  target.set_code_objects(counters.code_objects);
  target.set_blocked(Utf8(counters.blocked));
  target.set_pid(snapshot.process.pid);
}

void FillPattern(const PatternCounters& pattern, v1::PatternStats& message) {
  message.set_pattern(Utf8(pattern.pattern));
  message.set_status(ToProto(pattern.status));
  message.set_targets(pattern.rows);
  message.set_calls(pattern.total.calls);
  message.set_delayed_calls(pattern.total.delayed_calls);
  message.set_requested_delay_ns(pattern.total.requested_delay_ns);
  message.set_injected_delay_ns(pattern.total.injected_delay_ns);
  message.set_missed_calls(pattern.total.missed_calls);
  message.mutable_overshoot()->set_p50_ns(pattern.total.overshoot.p50_ns);
  message.mutable_overshoot()->set_p99_ns(pattern.total.overshoot.p99_ns);
  for (const NearMissText& miss : pattern.near_misses) {
    v1::NearMiss& near_miss = *message.add_near_misses();
    near_miss.set_suggestion(Utf8(miss.suggestion));
    near_miss.set_reason(Utf8(miss.reason));
  }
  message.set_delay_ns(pattern.delay_ns);
  message.set_every(pattern.every);
}

void FillTimes(const SessionTimes& times, v1::SessionTimes& message) {
  message.set_attach_ns(times.attach_ns);
  message.set_detach_ns(times.detach_ns);
  message.set_stopped_ns(times.stopped_ns);
  message.set_longest_stop_ns(times.longest_stop_ns);
  message.set_stops(times.stops);
  message.set_holds(times.holds);
  message.set_hold_p50_ns(times.hold_p50_ns);
  message.set_hold_max_ns(times.hold_max_ns);
  message.set_hold_timeouts(times.hold_timeouts);
}

// Everything but the rows and patterns.
void FillCommon(const Snapshot& snapshot, v1::SessionUpdate& update) {
  update.set_session_id(snapshot.session_id);
  update.set_state(ToProto(snapshot.state));
  ToProto(snapshot.process, *update.mutable_process());
  FillTimes(snapshot.times, *update.mutable_times());
  for (const SkippedCount& skip : snapshot.skipped) {
    v1::Skipped& message = *update.add_skipped();
    message.set_reason(Utf8(skip.reason));
    message.set_count(skip.count);
  }
  update.set_inexact(snapshot.inexact);
  update.set_missed_calls(snapshot.missed_calls);
  for (const std::string& warning : snapshot.warnings) update.add_warnings(Utf8(warning));
  update.set_progress(snapshot.progress);
  update.set_unix_ns(snapshot.unix_ns);
  update.set_delay_ns(snapshot.delay_ns);
  update.set_trap_cost_ns(snapshot.trap_cost_ns);
  if (snapshot.end == nullptr) return;
  v1::SessionEnd& end = *update.mutable_end();
  end.set_reason(snapshot.end->reason);
  ToProto(snapshot.end->proof, *end.mutable_detach_proof());
  end.set_no_hits(snapshot.end->no_hits);
  end.set_no_match(snapshot.end->no_match);
}

// Splits rows over messages by size. `Message` has `targets`, `patterns` and `more`.
template <typename Message>
class Pieces {
 public:
  explicit Pieces(Message common) : common_(std::move(common)), pieces_{common_} {}

  // To be filled before the next one is asked for.
  v1::TargetStats& NextTarget() { return Remember(*Room().add_targets()); }
  v1::PatternStats& NextPattern() { return Remember(*Room().add_patterns()); }
  std::vector<Message> Take() {
    for (size_t i = 0; i + 1 < pieces_.size(); ++i) pieces_[i].set_more(true);
    return std::move(pieces_);
  }

 private:
  template <typename Row>
  Row& Remember(Row& row) {
    last_ = &row;
    return row;
  }
  // Each row is weighed: the target may give some names of 64 KiB.
  Message& Room() {
    if (last_ != nullptr) bytes_ += std::exchange(last_, nullptr)->ByteSizeLong();
    if (bytes_ > kBytesPerMessage) {
      pieces_.push_back(common_);
      bytes_ = 0;
    }
    return pieces_.back();
  }
  const Message common_;
  std::vector<Message> pieces_;
  const google::protobuf::Message* last_ = nullptr;
  size_t bytes_ = 0;
};

absl::Status CheckRange(std::string_view field, uint64_t value, uint64_t lowest, uint64_t highest) {
  if (value >= lowest && value <= highest) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(field, " is ", value, "; it must be from ", lowest, " to ", highest));
}

absl::Status CheckDelay(std::string_view field, uint64_t delay_ns) {
  if (delay_ns <= kMaxDelayNs) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(field, " is ", delay_ns,
             "; the most is 10 ms (10000000): the delay burns CPU in the target, and "
             "longer ones need the sleep mode, which sbump does not have yet"));
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

constexpr int kMaxPatterns = 100'000;

}  // namespace

bool SeenRows::Changed(size_t row, const std::shared_ptr<const RowInfo>& info,
                       const RowCounters& counters) {
  if (row >= seen_.size()) seen_.resize(row + 1);
  if (seen_[row].info == info && seen_[row].counters == counters) return false;
  seen_[row] = {info, counters};
  return true;
}

v1::SessionState ToProto(SessionState state) {
  switch (state) {
    case SessionState::kAttaching:
      return v1::ATTACHING;
    case SessionState::kActive:
      return v1::ACTIVE;
    case SessionState::kEnded:
      return v1::ENDED;
  }
  return v1::SESSION_STATE_UNSPECIFIED;
}

void ToProto(const ProcessInfo& process, v1::Process& message) {
  message.set_pid(process.pid);
  message.set_exe(Utf8(process.exe));
  message.set_python_version(process.python_version);
  message.set_strategy(process.strategy);
  message.set_start_ticks(process.start_ticks);
  message.set_interpreter(Utf8(process.interpreter));
  message.set_build_id(process.build_id);
}

void ToProto(const DetachProof& proof, v1::DetachProof& message) {
  message.set_links_left(proof.links_left);
  message.set_fields_left(proof.fields_left);
  message.set_text_bytes_changed(proof.text_bytes_changed);
  message.set_verified(proof.verified);
  message.set_detail(Utf8(proof.detail));
}

std::vector<v1::SessionUpdate> ToUpdates(const Snapshot& snapshot, SeenRows& seen) {
  v1::SessionUpdate common;
  FillCommon(snapshot, common);
  Pieces<v1::SessionUpdate> pieces(std::move(common));
  const bool last = snapshot.end != nullptr;
  for (size_t row = 0; row < snapshot.rows.size(); ++row) {
    if (seen.Changed(row, snapshot.rows[row], snapshot.counters[row]) || last)
      FillTarget(snapshot, row, pieces.NextTarget());
  }
  for (const PatternCounters& pattern : snapshot.patterns)
    FillPattern(pattern, pieces.NextPattern());
  return pieces.Take();
}

std::vector<v1::MatchReply> ToMatchReplies(const MatchResult& result) {
  v1::MatchReply common;
  const Snapshot& snapshot = result.snapshot;
  ToProto(snapshot.process, *common.mutable_process());
  common.set_stopped_ns(result.snapshot.times.stopped_ns);
  common.set_code_objects_seen(result.code_objects_seen);
  common.set_incomplete(result.incomplete);
  for (const std::string& warning : snapshot.warnings) common.add_warnings(Utf8(warning));
  Pieces<v1::MatchReply> pieces(std::move(common));
  for (size_t row = 0; row < snapshot.rows.size(); ++row)
    FillTarget(snapshot, row, pieces.NextTarget());
  for (const PatternCounters& pattern : snapshot.patterns)
    FillPattern(pattern, pieces.NextPattern());
  return pieces.Take();
}

void ToProto(const Diagnosis& diagnosis, v1::InspectReply& reply) {
  for (const Finding& finding : diagnosis.findings) {
    v1::Finding& message = *reply.add_findings();
    message.set_level(finding.level == FindingLevel::kOk        ? v1::OK
                      : finding.level == FindingLevel::kWarning ? v1::WARNING
                                                                : v1::PROBLEM);
    message.set_topic(finding.topic);
    message.set_name(Utf8(finding.name));
    message.set_value(Utf8(finding.value));
    message.set_advice(Utf8(finding.advice));
  }
  reply.set_usable(diagnosis.usable());
  ToProto(diagnosis.process, *reply.mutable_process());
}

absl::StatusOr<std::shared_ptr<const TargetList>> ToTargets(const v1::TargetSelection& selection) {
  if (selection.patterns().empty()) {
    return absl::InvalidArgumentError(
        "no patterns: give at least one module_pattern:qualname_pattern");
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

absl::StatusOr<AttachSpec> ToSpec(const v1::AttachRequest& request) {
  AttachSpec spec;
  if (request.pid() <= 0)
    return absl::InvalidArgumentError(StrCat("pid is ", request.pid(), "; it must be positive"));
  spec.pid = request.pid();
  SB_ASSIGN_OR_RETURN(spec.rules.targets, ToTargets(request.selection()));
  SB_RETURN_IF_ERROR(CheckDelay("delay_ns", request.delay_ns()));
  SB_RETURN_IF_ERROR(CheckRange("every", request.every(), 0, UINT32_MAX));
  spec.rules.dose = {.delay_ns = request.delay_ns(), .every = OrDefault(request.every(), 1)};
  spec.interval_ns = OrDefault(request.interval_ns(), kDefaultIntervalNs);
  SB_RETURN_IF_ERROR(
      CheckRange("interval_ns", spec.interval_ns, kMinIntervalNs, 3'600'000'000'000));
  spec.max_stop_ns = OrDefault(request.max_stop_ns(), kDefaultMaxStopNs);
  SB_RETURN_IF_ERROR(CheckRange("max_stop_ns", spec.max_stop_ns, 1'000'000, kLargestMaxStopNs));
  spec.ttl_ns = OrDefault(request.ttl_ns(), kDefaultTtlNs);
  SB_RETURN_IF_ERROR(CheckRange("ttl_ns", spec.ttl_ns, 1'000'000, kLargestTtlNs));
  SB_RETURN_IF_ERROR(CheckRange("start_ns", request.start_ns(), 0, kLargestTtlNs));
  SB_RETURN_IF_ERROR(CheckRange("duration_ns", request.duration_ns(), 0, kLargestTtlNs));
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
  }
  if (!change.delay_ns && !change.every && change.targets == nullptr) {
    return absl::InvalidArgumentError("nothing to change: give delay_ns, every or a selection");
  }
  return change;
}

}  // namespace sbump
