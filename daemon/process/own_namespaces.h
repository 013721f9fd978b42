// The namespaces that this daemon itself is in: those of the machine, or of a container.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace sbump {

// The inode of this process's pid namespace, by which the BPF programs know it; 0: /proc does not
// tell.
uint32_t OwnPidNamespace();

// kFailedPrecondition where processes cannot be told by their numbers, or times by the clock: /proc
// is that of another pid namespace, or the clock is not the kernel's own.
absl::Status CheckOwnNamespaces();

}  // namespace sbump
