// Log lines about what others can bring about as often as they like (a refusal, a failed
// handshake): so many a second, and then only how many more there were.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/base/log.h"

namespace sbump {

// Which lines are written. Not thread-safe.
class LineBudget {
 public:
  static constexpr unsigned kMostInOneSecond = 20;

  // A line is wanted at `now_ns` (CLOCK_MONOTONIC). Nothing: it is not to be written. Else how many
  // were not, since the last one that was.
  std::optional<uint64_t> Take(uint64_t now_ns);

 private:
  uint64_t second_began_ns_ = 0;
  unsigned written_ = kMostInOneSecond;  // in that second
  uint64_t left_out_ = 0;
};

// From any thread.
class LimitedLog {
 public:
  LimitedLog(LogLevel level, std::string event) : level_(level), event_(std::move(event)) {}

  // After a gap another line says `left_out=N` first.
  void Write(std::initializer_list<LogField> fields);

 private:
  const LogLevel level_;
  const std::string event_;
  std::mutex mutex_;
  LineBudget budget_;  // guarded by mutex_
};

}  // namespace sbump
