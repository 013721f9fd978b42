// Which processes a session begins with, where they are not named by pid.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/process/process_facts.h"

namespace sbump {

// All that is given must hold; empty: not asked.
struct ProcessSelector {
  std::string container;  // the beginning of a container's id or name
  std::string cgroup;     // a cgroup, or one above: "/system.slice/app.service", also below
                          // /sys/fs/cgroup
  std::string exe;        // a glob over the executable's path; without a slash over its base name
  std::string cmdline;    // a glob over the arguments joined by spaces

  bool empty() const {
    return container.empty() && cgroup.empty() && exe.empty() && cmdline.empty();
  }
};

// "container 4c5e, exe python3*", for messages.
std::string ToString(const ProcessSelector& selector);

// Those of `processes` that it takes. kInvalidArgument: a glob that is none; kFailedPrecondition:
// the container's prefix fits more than one.
absl::StatusOr<std::vector<TargetId>> Select(const ProcessSelector& selector,
                                             const std::vector<ProcessFacts>& processes);

// Whether there is such a process for whoever selects.
using Sees = std::function<bool(const TargetProcess& process)>;

// As Select(), over this machine, without this daemon itself and without what is not seen (empty:
// all is). kNotFound: none is taken; kResourceExhausted: more than `most` are.
absl::StatusOr<std::vector<TargetId>> SelectProcesses(const ProcessSelector& selector, size_t most,
                                                      const Sees& sees = {});

}  // namespace sbump
