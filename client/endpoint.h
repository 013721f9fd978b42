// Where the daemon listens, and why it cannot be reached there.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sbump {

inline constexpr std::string_view kDefaultEndpoint = "unix:/run/sbumpd/sbumpd.sock";

struct Endpoint {
  std::string path;  // of the Unix socket

  std::string ToString() const { return "unix:" + path; }
};

// `unix:/path.sock` or `unix:///path.sock`. kInvalidArgument for anything else.
absl::StatusOr<Endpoint> ParseEndpoint(std::string_view text);

// Connects once and hangs up. kUnavailable (no socket, nobody listens) or kPermissionDenied, with
// what to do about it.
absl::Status ProbeEndpoint(const Endpoint& endpoint);

}  // namespace sbump
