// A run that was really made (data/run.sbump), for tests to read, damage and report.
#pragma once

#include <string>

#include "client/experiment/run_file.h"

namespace sbump {

std::string RealRunText();
RunFile RealRun();

}  // namespace sbump
