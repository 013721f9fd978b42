#include "daemon/rpc/to_proto.h"

#include <algorithm>
#include <utility>

#include "daemon/base/str_cat.h"
#include "daemon/rpc/pieces.h"
#include "daemon/rpc/wire_text.h"
#include "daemon/session/row_counters.h"

namespace sbump {
namespace {

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
    case PatternStatus::kGone:
      return v1::GONE;
  }
  return v1::PATTERN_STATUS_UNSPECIFIED;
}

uint64_t ToUnix(const Snapshot& snapshot, uint64_t monotonic_ns) {
  return monotonic_ns == 0 ? 0 : snapshot.unix_ns - (snapshot.monotonic_ns - monotonic_ns);
}

void FillNative(const NativeRowInfo& info, v1::NativeSite& site) {
  site.set_vaddr(info.vaddr);
  site.set_file_offset(info.file_offset);
  site.set_entry_vaddr(info.entry_vaddr);
  site.set_instruction(info.instruction);
  site.set_emulated(info.emulated);
  site.set_hit_cost_ns(info.hit_cost_ns);
}

void FillSpans(const SpanFigures& figures, v1::SpanFigures& message) {
  message.set_calls(figures.calls);
  message.set_raised(figures.raised);
  message.set_total_ns(figures.total_ns);
  message.set_self_ns(figures.self_ns);
  message.set_p50_ns(figures.p50_ns);
  message.set_p99_ns(figures.p99_ns);
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
  target.set_process_number(static_cast<uint32_t>(snapshot.number));
  if (info.native) FillNative(*info.native, *target.mutable_native());
  target.set_module_type(Utf8(info.module_type));
  if (counters.spans) FillSpans(*counters.spans, *target.mutable_spans());
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
  message.set_active_ns(times.active_ns);
}

void FillEnd(const SessionEnd& end, v1::SessionEnd& message) {
  message.set_reason(Utf8(end.reason));
  ToProto(end.proof, *message.mutable_detach_proof());
  message.set_no_hits(end.no_hits);
  message.set_no_match(end.no_match);
}

void FillProcess(const Snapshot& process, v1::ProcessStats& message) {
  ToProto(process.process, *message.mutable_process());
  message.set_state(ToProto(process.state));
  message.set_parent_pid(process.parent_pid);
  message.set_joined(process.joined);
  RowCounters total;
  for (const RowCounters& row : process.counters) Accumulate(total, row);
  message.set_calls(total.calls);
  message.set_delayed_calls(total.delayed_calls);
  message.set_requested_delay_ns(total.requested_delay_ns);
  message.set_injected_delay_ns(total.injected_delay_ns);
  message.set_missed_calls(total.missed_calls + process.missed_calls);
  message.set_targets(process.rows.size());
  FillTimes(process.times, *message.mutable_times());
  if (process.end != nullptr) FillEnd(*process.end, *message.mutable_end());
}

// Everything but lists: what each piece of an update has.
void FillCommon(const SessionSnapshot& snapshot, v1::SessionUpdate& update) {
  update.set_session_id(snapshot.session_id);
  update.set_state(ToProto(snapshot.state));
  update.set_mode(ToProto(snapshot.mode));
  update.set_on(ToProto(snapshot.on));
  if (!snapshot.processes.empty())
    ToProto(snapshot.processes.front()->process, *update.mutable_process());
  FillTimes(snapshot.times, *update.mutable_times());
  update.set_inexact(snapshot.inexact);
  update.set_missed_calls(snapshot.missed_calls);
  update.set_progress(snapshot.progress);
  update.set_unix_ns(snapshot.unix_ns);
  update.set_delay_ns(snapshot.delay_ns);
  update.set_trap_cost_ns(snapshot.trap_cost_ns);
  if (snapshot.end != nullptr) FillEnd(*snapshot.end, *update.mutable_end());
}

void FillSkippedAndWarnings(const SessionSnapshot& snapshot, v1::SessionUpdate& update) {
  for (const SkippedCount& skip : snapshot.skipped) {
    v1::Skipped& message = *update.add_skipped();
    message.set_reason(Utf8(skip.reason));
    message.set_count(skip.count);
  }
  for (const std::string& warning : snapshot.warnings) update.add_warnings(Utf8(warning));
}

}  // namespace

bool SeenRows::Changed(size_t process, size_t row, const std::shared_ptr<const RowInfo>& info,
                       const RowCounters& counters) {
  if (process >= seen_.size()) seen_.resize(process + 1);
  std::vector<Seen>& seen = seen_[process];
  if (row >= seen.size()) seen.resize(row + 1);
  if (seen[row].info == info && seen[row].counters == counters) return false;
  seen[row] = {info, counters};
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

v1::DelayMode ToProto(DelayMode mode) { return mode == DelayMode::kSleep ? v1::SLEEP : v1::SPIN; }

v1::HitOn ToProto(HitOn on) { return on == HitOn::kResume ? v1::RESUME : v1::CALL; }

void ToProto(const ProcessInfo& process, v1::Process& message) {
  message.set_pid(process.pid);
  message.set_exe(Utf8(process.exe));
  message.set_python_version(process.python_version);
  message.set_python_build(process.python_build);
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

std::vector<v1::SessionUpdate> ToUpdates(const SessionSnapshot& snapshot, SeenRows& seen) {
  v1::SessionUpdate common;
  FillCommon(snapshot, common);
  Pieces<v1::SessionUpdate> pieces(std::move(common));
  FillSkippedAndWarnings(snapshot, pieces.First());
  const bool last = snapshot.end != nullptr;
  for (const auto& one : snapshot.processes) {
    const Snapshot& process = *one;
    for (size_t row = 0; row < process.rows.size(); ++row) {
      if (seen.Changed(process.number, row, process.rows[row], process.counters[row]) || last)
        FillTarget(process, row, pieces.Next(&v1::SessionUpdate::add_targets));
    }
    FillProcess(process, pieces.Next(&v1::SessionUpdate::add_processes));
  }
  for (const PatternCounters& pattern : snapshot.patterns)
    FillPattern(pattern, pieces.Next(&v1::SessionUpdate::add_patterns));
  return pieces.Take();
}

std::vector<v1::MatchReply> ToMatchReplies(const MatchResult& result) {
  v1::MatchReply common;
  const Snapshot& snapshot = result.snapshot;
  ToProto(snapshot.process, *common.mutable_process());
  common.set_stopped_ns(result.snapshot.times.stopped_ns);
  common.set_code_objects_seen(result.code_objects_seen);
  common.set_incomplete(result.incomplete);
  Pieces<v1::MatchReply> pieces(std::move(common));
  for (const std::string& warning : snapshot.warnings) pieces.First().add_warnings(Utf8(warning));
  for (size_t row = 0; row < snapshot.rows.size(); ++row)
    FillTarget(snapshot, row, pieces.Next(&v1::MatchReply::add_targets));
  for (const PatternCounters& pattern : snapshot.patterns)
    FillPattern(pattern, pieces.Next(&v1::MatchReply::add_patterns));
  return pieces.Take();
}

void ToProto(const RulesInForce& rules, v1::UpdateReply& reply) {
  reply.set_targets(rules.rows);
  for (const std::string& warning : rules.warnings) reply.add_warnings(Utf8(warning));
  size_t bytes = 0;
  for (const PatternCounters& pattern : rules.unmatched) {
    FillPattern(pattern, *reply.add_unmatched());
    bytes += reply.unmatched().rbegin()->ByteSizeLong();
    if (bytes > kBytesPerMessage) break;
  }
  if (const size_t told = reply.unmatched_size(); told < rules.unmatched.size())
    reply.add_warnings(StrCat(rules.unmatched.size() - told, " more patterns match nothing"));
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

}  // namespace sbump
