// The append-only record of who did what to which process: one JSON object a line.
//
// A line that cannot be written whole is taken back, and Write says so: whoever asked for an attach
// is refused then.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"
#include "daemon/policy/caller.h"
#include "daemon/policy/target_facts.h"

namespace sbump {

struct AuditTotals {
  uint64_t calls = 0;
  uint64_t delayed_calls = 0;
  uint64_t requested_delay_ns = 0;
  uint64_t injected_delay_ns = 0;
};

struct AuditRule {
  std::string pattern;
  uint64_t delay_ns = 0;
  uint64_t every = 1;

  bool operator==(const AuditRule&) const = default;
};

// What is empty is left out.
struct AuditRecord {
  std::string_view event;  // "attach", "match", "update", "detach", "end", "refused"
  Caller caller;
  std::string action;  // of a refusal: what was refused
  std::string session;
  std::optional<TargetFacts> target;
  std::vector<AuditRule> rules;
  std::vector<std::string> exclude;
  std::optional<uint64_t> delay_ns;
  std::string_view mode, on;     // of an attach: "spin" or "sleep"; "call" or "resume"
  std::optional<bool> children;  // of an attach: whether they are followed
  uint64_t ttl_ns = 0;
  std::string reason;
  std::optional<AuditTotals> totals;
  std::optional<bool> clean;  // of an end: the proof of detach
};

// The line, with its newline; `unix_ns` is when.
std::string ToJsonLine(const AuditRecord& record, uint64_t unix_ns);

// From any thread. Write() may take as long as the disk does.
class AuditLog {
 public:
  // Makes the file 0600 where it is not there. Refuses what is no regular file of this user's, or
  // what others can write.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& path);

  // On the disk when it returns OK.
  absl::Status Write(const AuditRecord& record);
  // The same for whole lines, as ToJsonLine() makes them: all or none.
  absl::Status Write(std::string_view lines);

  // The path again, for logrotate. Without success the old file stays in use.
  absl::Status Reopen();

 private:
  AuditLog(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  absl::Status Append(std::string_view line);

  const std::string path_;
  std::mutex mutex_;
  Fd fd_;  // guarded by mutex_
};

}  // namespace sbump
