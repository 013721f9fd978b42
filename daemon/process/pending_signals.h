// Signals that wait for a thread which stands still.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "daemon/process/target_process.h"

namespace sbump {

// True where the thread, let go, would take a signal: one that waits for it or for its process,
// that it does not block or ignore, and whose default is not to be ignored.
bool HasSignalToTake(const TargetProcess& process, pid_t tid);

// Of the text of /proc/PID/task/TID/status: bit n - 1 is signal n.
uint64_t SignalsToTake(const std::string& status);

}  // namespace sbump
