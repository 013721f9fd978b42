// What stands in the way of an attach, on this machine and in one process, in words. Changes
// nothing in the process.
#pragma once

#include <string>
#include <vector>

#include "daemon/session/attachment.h"

namespace sbump {

enum class FindingLevel { kOk, kWarning, kProblem };

struct Finding {
  FindingLevel level = FindingLevel::kOk;
  std::string topic;
  std::string name;
  std::string value;
  std::string advice;
};

struct Diagnosis {
  std::vector<Finding> findings;
  ProcessInfo process;
  bool usable() const;
};

// `pid` 0: the machine alone.
Diagnosis Diagnose(pid_t pid, const SessionEnvironment& environment);

}  // namespace sbump
