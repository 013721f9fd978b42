// One URL, fetched again and again over one connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/metric/http_url.h"
#include "client/metric/stop_signal.h"

namespace sbump {

inline constexpr size_t kLargestReply = 16 * 1024 * 1024;

// Follows up to three redirects, never to another scheme than http and https, nor from https to
// http. Proxies are those of the environment (http_proxy, no_proxy, ...), none for loopback. Asks
// for no compression: it would cost the service that is measured. Users and passwords come from
// ~/.netrc. One thread at a time.
class HttpGetter {
 public:
  // `accept`: the header's value. `stop` must outlive it. kResourceExhausted: no memory.
  static absl::StatusOr<std::unique_ptr<HttpGetter>> Open(const HttpUrl& url, std::string accept,
                                                          uint64_t timeout_ns,
                                                          const StopSignal& stop);
  virtual ~HttpGetter() = default;

  // The body of a reply with status 200 to 299. Errors do not repeat the URL.
  //   kUnavailable         no connection, or it broke; a status from 500
  //   kDeadlineExceeded    it took longer than the limit
  //   kNotFound            404; kPermissionDenied 401 and 403
  //   kFailedPrecondition  any other status, a redirect that is not followed
  //   kResourceExhausted   more than kLargestReply
  //   kCancelled           `stop` is set
  virtual absl::StatusOr<std::string> Get() = 0;
};

}  // namespace sbump
