#include "daemon/front/peer_credentials.h"

#include <sys/socket.h>

#include <cerrno>

namespace sbump {
namespace {

constexpr size_t kMostGroups = 65536;  // the kernel's own limit (NGROUPS_MAX)

absl::StatusOr<std::vector<gid_t>> PeerGroups(int socket_fd) {
  std::vector<gid_t> groups(32);
  while (true) {
    socklen_t bytes = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &bytes) == 0) {
      groups.resize(bytes / sizeof(gid_t));
      return groups;
    }
    const size_t needed = bytes / sizeof(gid_t);
    if (errno != ERANGE || needed <= groups.size() || needed > kMostGroups)
      return ErrnoStatus(errno, "the groups of a client (SO_PEERGROUPS)");
    groups.resize(needed);
  }
}

}  // namespace

absl::StatusOr<Caller> PeerCredentials(int socket_fd) {
  ucred credentials{};
  socklen_t bytes = sizeof(credentials);
  if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0)
    return ErrnoStatus(errno, "the user of a client (SO_PEERCRED)");
  Caller caller;
  caller.uid = credentials.uid;
  caller.pid = credentials.pid;
  SB_ASSIGN_OR_RETURN(caller.groups, PeerGroups(socket_fd));
  caller.groups.push_back(credentials.gid);
  return caller;
}

}  // namespace sbump
