// The daemon's flags, which are also the names in its config file.
#pragma once

#include <string>

#include "daemon/base/log.h"
#include "daemon/front/front_door.h"
#include "daemon/gate/gate.h"

namespace sbump {

struct DaemonOptions {
  FrontDoorOptions front;
  GateOptions gate;
  std::string metrics;  // "127.0.0.1:9464"; empty: none
  bool metrics_any = false;
  std::string state_dir;
  LogLevel log_level = LogLevel::kInfo;
};

// Returns -1 when the daemon is to run, else the status to exit with (0 after --help or --version,
// 2 after a mistake, which is explained on standard error).
int ParseDaemonOptions(int argc, char** argv, DaemonOptions& options);

}  // namespace sbump
