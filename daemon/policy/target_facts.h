// What a policy looks at in a process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>

namespace sbump {

struct TargetFacts {
  pid_t pid = 0;
  uint64_t start_ticks = 0;
  // Every user whose rights the process has: real, effective, saved, file system, and root where
  // the kernel keeps debuggers of its own user away (a setuid or a capable program).
  std::set<uid_t> uids;
  std::string cgroup;   // "/system.slice/app.service", of the unified hierarchy
  std::string cmdline;  // words joined by spaces; what the process says of itself
  std::string exe;
};

}  // namespace sbump
