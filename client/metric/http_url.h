// Where a metric is read over HTTP.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sbump {

struct HttpUrl {
  std::string text;         // as it was written
  std::string url;          // "http://127.0.0.1:8000/metrics"
  std::string unix_socket;  // a path; empty: over TCP
  bool is_loopback = false;
};

inline constexpr size_t kLongestUrl = 4096;

// `http://...`, `https://...`, or `unix:SOCKET:/PATH` for a service on a Unix socket. A password in
// it is refused: whoever lists processes could read it, and reports would hold it.
// kInvalidArgument.
absl::StatusOr<HttpUrl> ParseHttpUrl(std::string_view text);

// The text with "..." for what is between :// and @, for messages.
std::string WithoutPassword(std::string_view text);

}  // namespace sbump
