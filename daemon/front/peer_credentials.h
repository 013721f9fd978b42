// Who is at the other end of a Unix socket, by the kernel's word: the user, the groups and the
// process that connected, as they were at that moment, in this process's user namespace.
#pragma once

#include "daemon/base/status.h"
#include "daemon/policy/caller.h"

namespace sbump {

absl::StatusOr<Caller> PeerCredentials(int socket_fd);

}  // namespace sbump
