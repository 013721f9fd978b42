// What a session looks like at one moment, as plain values: what `rpc` turns into messages.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sbump {

enum class SessionState { kAttaching, kActive, kEnded };
enum class PatternStatus { kMatched, kNoMatch, kNoCalls, kAmbiguous };

struct ProcessInfo {
  int pid = 0;
  uint64_t start_ticks = 0;
  std::string exe;
  std::string python_version;
  std::string strategy;
  std::string interpreter;
  std::string build_id;
};

inline constexpr size_t kNoPattern = static_cast<size_t>(-1);

// What changes only with the targets.
struct RowInfo {
  size_t pattern = kNoPattern;  // the first that matches: it owns the row
  std::vector<size_t> matches;  // all that match
  std::string filename;
  std::string qualname;
  uint32_t first_line = 0;
  std::string qualname_source;
  std::vector<std::string> module_names;
};

struct OvershootPercentiles {
  uint64_t p50_ns = 0;
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

  bool operator==(const RowCounters& other) const {
    return calls == other.calls && delayed_calls == other.delayed_calls &&
           missed_calls == other.missed_calls && code_objects == other.code_objects &&
           blocked == other.blocked;
  }
};

struct NearMissText {
  std::string suggestion;
  std::string reason;
};

struct PatternCounters {
  std::string pattern;
  PatternStatus status = PatternStatus::kNoMatch;
  uint64_t rows = 0;  // that it matches, its own or not
  RowCounters total;  // of the rows that it owns
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
};

struct DetachProof {
  uint32_t links_left = 0;
  uint32_t fields_left = 0;
  uint32_t text_bytes_changed = 0;
  bool verified = false;
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

struct Snapshot {
  std::string session_id;
  SessionState state = SessionState::kAttaching;
  ProcessInfo process;
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
  std::shared_ptr<const SessionEnd> end;  // only in the last one
};

}  // namespace sbump
