// What a process is chosen or judged by, before anything is done to it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "daemon/process/target_process.h"

namespace sbump {

struct ProcessFacts {
  TargetId id;
  uid_t real_uid = 0, effective_uid = 0;  // as this daemon's user namespace numbers them
  std::string exe;                        // as the process sees it
  std::string cmdline;                    // the arguments, joined by spaces
  std::vector<std::string> cgroups;       // a path per hierarchy: "/system.slice/app.service"
};

absl::StatusOr<ProcessFacts> ReadProcessFacts(const TargetProcess& process);

// The paths, none twice, of lines as /proc/PID/cgroup has them: "0::/system.slice/app.service",
// "9:name=systemd:/" (cgroups(7)).
std::vector<std::string> ParseCgroups(const std::string& text);

// All processes of the pid namespace of /proc, in order. Never none.
absl::StatusOr<std::vector<pid_t>> ListProcesses();

// Its children, theirs and so on, without itself; of processes that come and go some may be
// missing.
absl::StatusOr<std::vector<TargetId>> DescendantsOf(pid_t pid);

// The process that runs with that number, or is stopped: neither gone nor a zombie.
std::optional<TargetId> FindRunning(pid_t pid);
bool IsRunning(pid_t pid);
// By SIGSTOP or a tracer: all of it, as far as its first thread tells.
bool IsStopped(pid_t pid);

// The names that the components of a cgroup path give containers: "docker-4c5e....scope" is the
// container 4c5e.... A component without such a wrapping names itself.
std::vector<std::string> ContainerNames(const std::string& cgroup);

}  // namespace sbump
