#include "client/endpoint.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

#include "absl/strings/ascii.h"
#include "daemon/base/fd.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr size_t kMaxPathBytes = sizeof(sockaddr_un{}.sun_path) - 1;
constexpr int kConnectTimeoutMs = 5000;
constexpr std::string_view kUnixScheme = "unix:";
constexpr std::string_view kTcpScheme = "tcp:";

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
      if (!endpoint.IsUnix())
        return absl::UnavailableError(StrCat(where, "connection refused: nobody listens there"));
      return absl::UnavailableError(
          StrCat(where,
                 "connection refused: the socket is there but nobody listens (a daemon that "
                 "was killed leaves it behind); start it with `systemctl start sbumpd`"));
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(StrCat(
          where,
          "permission denied on the socket: run sbumpctl as root, or as a member of the group that "
          "sbumpd's --socket-group names"));
    default:
      return absl::UnavailableError(StrCat(where, std::generic_category().message(error_number)));
  }
}

absl::StatusOr<Endpoint> ParseUnix(std::string_view text) {
  std::string_view path = text.substr(kUnixScheme.size());
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
  return Endpoint{.path = std::string(path)};
}

// Not a name, but what one is made of: it goes into gRPC's own notation, and to the resolver.
bool IsHost(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
  });
}

absl::StatusOr<Endpoint> ParseTcp(std::string_view text) {
  const absl::Status mistake = absl::InvalidArgumentError(
      StrCat("endpoint \"", text, "\": write unix:/path/to/sbumpd.sock or HOST:PORT"));
  std::string_view rest = text;
  if (rest.starts_with(kTcpScheme)) rest.remove_prefix(kTcpScheme.size());
  const size_t colon = rest.rfind(':');
  if (colon == rest.npos) return mistake;
  std::string_view host = rest.substr(0, colon);
  const std::string_view port = rest.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != host.npos) {
    return mistake;
  }
  uint16_t number = 0;
  const auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (!IsHost(host) || error != std::errc() || stop != port.data() + port.size() || number == 0)
    return mistake;
  return Endpoint{.host = std::string(host), .port = std::string(port)};
}

// errno, or 0.
int ConnectWithin(int fd, const sockaddr* address, socklen_t bytes) {
  if (connect(fd, address, bytes) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd waiting{fd, POLLOUT, 0};
  if (poll(&waiting, 1, kConnectTimeoutMs) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

absl::Status ProbeTcp(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &found);
  if (failed != 0) {
    return absl::UnavailableError(
        StrCat("sbumpd at ", endpoint.ToString(), ": ", gai_strerror(failed)));
  }
  int error = EHOSTUNREACH;
  for (const addrinfo* one = found; one != nullptr && error != 0; one = one->ai_next) {
    const Fd fd(socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = fd.valid() ? ConnectWithin(fd.get(), one->ai_addr, one->ai_addrlen) : errno;
  }
  freeaddrinfo(found);
  return error == 0 ? absl::OkStatus() : Explain(error, endpoint);
}

absl::Status ProbeUnix(const Endpoint& endpoint) {
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

}  // namespace

std::string Endpoint::HostPort() const {
  return host.find(':') == host.npos ? StrCat(host, ":", port) : StrCat("[", host, "]:", port);
}

std::string Endpoint::ToString() const {
  if (IsUnix()) return StrCat(kUnixScheme, path);
  std::string text = HostPort();
  // Of a host that is named like a scheme.
  if (text.starts_with(kUnixScheme) || text.starts_with(kTcpScheme)) text.insert(0, kTcpScheme);
  return text;
}

absl::StatusOr<Endpoint> ParseEndpoint(std::string_view text) {
  return text.starts_with(kUnixScheme) ? ParseUnix(text) : ParseTcp(text);
}

absl::Status ProbeEndpoint(const Endpoint& endpoint) {
  return endpoint.IsUnix() ? ProbeUnix(endpoint) : ProbeTcp(endpoint);
}

}  // namespace sbump
