// Where a daemon listens, and why it cannot be reached there.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sbump {

inline constexpr std::string_view kDefaultEndpoint = "unix:/run/sbumpd/sbumpd.sock";

// One of the two.
struct Endpoint {
  std::string path;  // of a Unix socket
  std::string host;  // of a TCP listener; an IPv6 address without brackets
  std::string port;

  bool IsUnix() const { return !path.empty(); }
  // Of a TCP listener, as resolvers take it.
  std::string HostPort() const;
  // ParseEndpoint() makes the same of it.
  std::string ToString() const;
};

// `unix:/path.sock`, `unix:///path.sock`, `HOST:PORT`, `[ADDRESS]:PORT`, the last two also behind
// `tcp:`. kInvalidArgument for anything else.
absl::StatusOr<Endpoint> ParseEndpoint(std::string_view text);

// Connects once and hangs up. kUnavailable (nobody listens there) or kPermissionDenied, with what
// to do about it.
absl::Status ProbeEndpoint(const Endpoint& endpoint);

}  // namespace sbump
