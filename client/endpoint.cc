#include "client/endpoint.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "daemon/base/fd.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr size_t kMaxPathBytes = sizeof(sockaddr_un{}.sun_path) - 1;

absl::Status Explain(int error_number, const Endpoint& endpoint) {
  const std::string where = StrCat("sbumpd at ", endpoint.ToString(), ": ");
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return absl::UnavailableError(
          StrCat(where,
                 "there is no such socket: the daemon is not running, or listens elsewhere; "
                 "start it with `systemctl start sbumpd`, or name its socket with --endpoint "
                 "or SBUMP_ENDPOINT"));
    case ECONNREFUSED:
      return absl::UnavailableError(
          StrCat(where,
                 "connection refused: the socket is there but nobody listens (a daemon that "
                 "was killed leaves it behind); start it with `systemctl start sbumpd`"));
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(StrCat(
          where, "permission denied on the socket, which is root's alone: run sbumpctl as root"));
    default:
      return absl::UnavailableError(StrCat(where, std::generic_category().message(error_number)));
  }
}

}  // namespace

absl::StatusOr<Endpoint> ParseEndpoint(std::string_view text) {
  constexpr std::string_view kScheme = "unix:";
  if (text.substr(0, kScheme.size()) != kScheme) {
    return absl::InvalidArgumentError(
        StrCat("endpoint \"", text, "\": write unix:/path/to/sbumpd.sock"));
  }
  std::string_view path = text.substr(kScheme.size());
  if (path.substr(0, 3) == "///") path.remove_prefix(2);
  if (path.empty() || path.substr(0, 2) == "//" || path.find('\0') != path.npos) {
    return absl::InvalidArgumentError(
        StrCat("endpoint \"", text, "\": no path; write unix:/path/to/sbumpd.sock"));
  }
  if (path.size() > kMaxPathBytes) {
    return absl::InvalidArgumentError(StrCat("endpoint \"", text, "\": the path has ", path.size(),
                                             " bytes; a Unix socket's has at most ",
                                             kMaxPathBytes));
  }
  return Endpoint{std::string(path)};
}

absl::Status ProbeEndpoint(const Endpoint& endpoint) {
  const Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Explain(errno, endpoint);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, endpoint.path.data(), endpoint.path.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (connect(fd.get(), generic, sizeof(address)) == 0) return absl::OkStatus();
  // A full backlog is a busy daemon: gRPC's own attempt may wait for it.
  if (errno == EAGAIN) return absl::OkStatus();
  return Explain(errno, endpoint);
}

}  // namespace sbump
