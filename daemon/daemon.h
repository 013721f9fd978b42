// Builds each part of sbumpd once, runs until SIGTERM or SIGINT, and takes everything down in the
// right order.
#pragma once

#include "daemon/options.h"

namespace sbump {

// The process's exit status: 0 after a signal, 1 when it could not start (the reason is in the
// log).
int RunDaemon(const DaemonOptions& options);

}  // namespace sbump
