// What a policy wants to know of a process, read through the descriptors that hold it.
#pragma once

#include "daemon/base/status.h"
#include "daemon/policy/target_facts.h"
#include "daemon/process/target_process.h"

namespace sbump {

// A process that hides something (its cgroup, its command line) has it empty; its users are always
// known, or it is an error.
absl::StatusOr<TargetFacts> ReadFacts(const TargetProcess& process);

// Real, effective, saved and file system uid in the text of /proc/PID/status.
absl::StatusOr<std::set<uid_t>> UidsOf(std::string_view status);
// Any that the process may use, in the text of /proc/PID/status.
absl::StatusOr<bool> HasCapabilities(const std::string& status);
// The path in the unified hierarchy, out of the text of /proc/PID/cgroup; empty where there is
// none.
std::string UnifiedCgroup(std::string_view cgroups);
// The text of /proc/PID/cmdline as one line.
std::string JoinWords(std::string_view cmdline);

}  // namespace sbump
