// What stands in the way of an attach, on this machine and in one process, in words. Changes
// nothing in the process.
#pragma once

#include <string>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/session/attachment.h"
#include "daemon/session/authorise.h"

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

// `pid` 0: the machine alone. The error is that of `authorise`, which is asked before the process
// is looked at, and after.
absl::StatusOr<Diagnosis> Diagnose(pid_t pid, const SessionEnvironment& environment,
                                   const Authorise& authorise);

}  // namespace sbump
