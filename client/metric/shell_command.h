// What a shell command prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "client/metric/stop_signal.h"

namespace sbump {

inline constexpr size_t kMostCommandOutput = 64 * 1024;

// Runs /bin/sh -c, with nothing to read, in a process group of its own: Ctrl-C does not reach it,
// and what it leaves running there is killed.
//   kUnavailable       it failed, or could not be run; the message has the begin of what it wrote
//                      to standard error
//   kDeadlineExceeded  it took longer than `timeout_ns`, and was killed
//   kDataLoss          it printed more than kMostCommandOutput, and was killed
//   kCancelled         `stop` was set, and it was killed
absl::StatusOr<std::string> OutputOf(const std::string& command, uint64_t timeout_ns,
                                     const StopSignal& stop);

}  // namespace sbump
