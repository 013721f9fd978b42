// The daemon's flags, which are also the names in its config file.
#pragma once

#include <string>
#include <vector>

#include "daemon/base/log.h"

namespace sbump {

struct DaemonOptions {
  std::vector<std::string> listen;  // "unix:/path.sock"
  std::string state_dir;
  LogLevel log_level = LogLevel::kInfo;
};

// Returns -1 when the daemon is to run, else the status to exit with (0 after --help or --version,
// 2 after a mistake, which is explained on standard error).
int ParseDaemonOptions(int argc, char** argv, DaemonOptions& options);

}  // namespace sbump
