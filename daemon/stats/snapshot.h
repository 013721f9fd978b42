// What a session and each of its processes look like at one moment, as plain values: what `rpc`
// turns into messages.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bpf/shared/slot.h"
#include "daemon/stats/delay_mode.h"

namespace sbump {

enum class SessionState { kAttaching, kActive, kEnded };
enum class PatternStatus { kMatched, kNoMatch, kNoCalls, kAmbiguous, kGone };

struct ProcessInfo {
  int pid = 0;
  uint64_t start_ticks = 0;
  std::string exe;
  std::string python_version;
  std::string python_build;  // "free-threaded", or empty
  std::string strategy;
  std::string interpreter;
  std::string build_id;
};

inline constexpr size_t kNoPattern = static_cast<size_t>(-1);

// Where the calls of a native function are seen.
struct NativeRowInfo {
  uint64_t vaddr = 0;  // in its file
  uint64_t file_offset = 0;
  uint64_t entry_vaddr = 0;
  std::string instruction;
  bool emulated = false;
  uint64_t hit_cost_ns = 0;
};

// What changes only with the targets.
struct RowInfo {
  size_t pattern = kNoPattern;  // the first that matches: it owns the row
  std::vector<size_t> matches;  // all that match
  std::string filename;
  std::string qualname;
  uint32_t first_line = 0;
  std::string qualname_source;
  std::vector<std::string> module_names;
  std::optional<NativeRowInfo> native;  // of a native function
  std::string module_type;              // of a module: its class
};

struct OvershootPercentiles {
  uint64_t p50_ns = 0;
  uint64_t p99_ns = 0;
};

// Of calls that were followed from begin to end.
struct SpanFigures {
  uint64_t calls = 0;
  uint64_t raised = 0;    // ended with an exception
  uint64_t total_ns = 0;  // without delays before their begin
  uint64_t self_ns = 0;   // without the calls of followed modules within them
  uint64_t p50_ns = 0;    // of a call
  uint64_t p99_ns = 0;
};

struct RowCounters {
  uint64_t calls = 0;
  uint64_t delayed_calls = 0;
  uint64_t requested_delay_ns = 0;
  uint64_t injected_delay_ns = 0;
  uint64_t missed_calls = 0;
  OvershootPercentiles overshoot;
  uint32_t threads_seen = 0;
  uint32_t code_objects = 0;
  uint64_t first_hit_ns = 0;  // CLOCK_MONOTONIC; 0: never
  uint64_t last_hit_ns = 0;
  std::string blocked;
  std::optional<SpanFigures> spans;  // of a module, where spans are asked for

  bool operator==(const RowCounters& other) const {
    return calls == other.calls && delayed_calls == other.delayed_calls &&
           missed_calls == other.missed_calls && code_objects == other.code_objects &&
           blocked == other.blocked &&
           (spans ? spans->calls : 0) == (other.spans ? other.spans->calls : 0);
  }
};

struct NearMissText {
  std::string suggestion;
  std::string reason;
};

class OvershootHistogram;

struct PatternCounters {
  std::string pattern;
  PatternStatus status = PatternStatus::kNoMatch;
  uint64_t rows = 0;                                    // that it matches, its own or not
  uint64_t calls = 0;                                   // of these
  RowCounters total;                                    // of the rows that it owns
  std::shared_ptr<const OvershootHistogram> overshoot;  // of these; null: no delayed calls
  std::vector<NearMissText> near_misses;
  uint64_t delay_ns = 0;
  uint64_t every = 0;
};

struct SessionTimes {
  uint64_t attach_ns = 0;
  uint64_t detach_ns = 0;
  uint64_t stopped_ns = 0;
  uint64_t longest_stop_ns = 0;
  uint64_t stops = 0;
  uint64_t holds = 0;
  uint64_t hold_p50_ns = 0;
  uint64_t hold_max_ns = 0;
  uint64_t hold_timeouts = 0;
  uint64_t active_ns = 0;  // until now, or until the end
};

struct DetachProof {
  uint32_t links_left = 0;
  uint32_t fields_left = 0;
  uint32_t text_bytes_changed = 0;
  bool verified = false;
  uint32_t copies_disarmed = 0;  // processes that were forked from it
  std::string detail;
};

struct SessionEnd {
  std::string reason;
  DetachProof proof;
  bool failed = false;  // never became active: `reason` says why
  bool no_hits = false;
  bool no_match = false;
};

struct SkippedCount {
  std::string reason;
  uint64_t count = 0;
};

using Rows = std::vector<std::shared_ptr<const RowInfo>>;

// Of one process.
struct Snapshot {
  size_t number = 0;  // of the session's processes: stays with it
  SessionState state = SessionState::kAttaching;
  ProcessInfo process;
  // How it came into the session: empty for one that was asked for.
  std::string joined;  // "forked by pid 77; held before its first call"
  int parent_pid = 0;  // of one that was followed
  Rows rows;
  std::vector<RowCounters> counters;  // counters[i] belongs to rows[i]
  std::vector<PatternCounters> patterns;
  SessionTimes times;
  std::vector<SkippedCount> skipped;
  std::vector<std::string> warnings;
  std::string progress;
  bool inexact = false;
  uint64_t missed_calls = 0;  // that could not be attributed to any row
  uint64_t unix_ns = 0;
  uint64_t monotonic_ns = 0;  // taken at the same moment: turns the hits' times into times of day
  uint64_t delay_ns = 0;
  uint64_t trap_cost_ns = 0;
  uint64_t module_hit_cost_ns = 0;  // of the probe that calls of modules pass; 0: there is none
  // Of all delayed calls: bpf/shared/slot.h says where each bucket begins.
  std::array<uint64_t, SB_OVERSHOOT_BUCKETS> overshoot_buckets{};
  std::shared_ptr<const SessionEnd> end;  // only in the last one

  // On the clock of monotonic_ns: the detach is no part of the measurement.
  uint64_t measured_until_ns() const { return monotonic_ns - times.detach_ns; }
};

// Of a hit at the row's probe.
inline uint64_t HitCostNs(const Snapshot& process, const RowInfo& row) {
  if (row.native) return row.native->hit_cost_ns;
  return row.module_type.empty() ? process.trap_cost_ns : process.module_hit_cost_ns;
}

// Of the whole session. A process that ended stays, with its last snapshot.
struct SessionSnapshot {
  std::string session_id;
  DelayMode mode = DelayMode::kSpin;
  HitOn on = HitOn::kCall;
  SessionState state = SessionState::kAttaching;
  std::vector<std::shared_ptr<const Snapshot>> processes;  // in the order in which they came
  // Over all processes.
  std::vector<PatternCounters> patterns;
  SessionTimes times;
  std::vector<SkippedCount> skipped;
  std::vector<std::string> warnings;
  bool inexact = false;
  uint64_t missed_calls = 0;

  std::string progress;
  uint64_t unix_ns = 0;
  uint64_t delay_ns = 0;
  uint64_t trap_cost_ns = 0;
  std::shared_ptr<const SessionEnd> end;  // only in the last one
};

}  // namespace sbump
