// Runs for tests to read, damage and report.
#pragma once

#include <string>

#include "client/experiment/run_file.h"

namespace sbump {

// One that was really made (data/run.sbump): of two groups, "critical" and "hidden".
std::string RealRunText();
RunFile RealRun();

// Of three experiments, each made of the real one (ranked_run.py): "app.engine", which is critical,
// and "app.log"; of the parts of app.engine, "app.engine.decode", which is critical, and
// "app.engine.trace"; and the confirmation of app.engine.decode.
std::string RankedRunText();
RunFile RankedRun();

}  // namespace sbump
