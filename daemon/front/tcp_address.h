// "tcp:HOST:PORT" as addresses to bind.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <vector>

#include "daemon/base/status.h"

namespace sbump {

bool IsTcpEndpoint(std::string_view endpoint);

// kInvalidArgument: it is not written so. Looks nothing up.
absl::Status CheckTcpEndpoint(const std::string& endpoint);

// HOST is an address ([::1] with brackets) or a name, which is looked up now. An address that
// means every interface is refused unless `any` allows it.
absl::StatusOr<std::vector<boost::asio::ip::tcp::endpoint>> ResolveTcpEndpoint(
    const std::string& endpoint, bool any);

}  // namespace sbump
