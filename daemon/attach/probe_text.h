// The text of a process at sbump's sites, compared with the file it was mapped from.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/cpython/interpreter.h"
#include "daemon/process/remote_memory.h"

namespace sbump {

// Addresses in the interpreter's file where a session places probes.
std::vector<uint64_t> ProbedAddresses(const Interpreter& interpreter);

// How many bytes at the probed addresses are not those of the file. What cannot be read counts.
uint32_t CountTextBytesChanged(const MemoryReader& memory, const Interpreter& interpreter);

// A daemon that is killed while the kernel takes its probe away can leave the breakpoint behind:
// the kernel gives up at a fatal signal ("failed to unregister, leaking uprobe":
// uprobe_unregister(), kernel/events/uprobes.c, Linux 6.18). It calls nothing any more and costs
// 0.5 us per pass. Placing a probe at the same instruction and taking it away makes the kernel try
// again.
//
// Returns how many breakpoints went. One that stays is somebody else's probe. kPermissionDenied,
// kFailedPrecondition when no probe can be placed.
absl::StatusOr<int> RemoveLeakedProbes(pid_t pid, const MemoryReader& memory,
                                       const Interpreter& interpreter);

}  // namespace sbump
