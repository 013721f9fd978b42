#include "daemon/front/tcp_address.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <charconv>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

using boost::asio::ip::tcp;

constexpr std::string_view kPrefix = "tcp:";

struct HostPort {
  std::string host;
  std::string port;
};

absl::StatusOr<HostPort> Split(const std::string& endpoint) {
  const absl::Status mistake = absl::InvalidArgumentError(
      StrCat("--listen ", endpoint, ": give tcp:HOST:PORT or tcp:[ADDRESS]:PORT"));
  std::string_view rest = std::string_view(endpoint).substr(kPrefix.size());
  const size_t colon = rest.rfind(':');
  if (colon == rest.npos) return mistake;
  const std::string_view port = rest.substr(colon + 1);
  std::string_view host = rest.substr(0, colon);
  uint16_t number = 0;
  const auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || stop != port.data() + port.size()) return mistake;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != host.npos) {
    return mistake;
  }
  if (host.empty())
    return absl::InvalidArgumentError(
        StrCat("--listen ", endpoint, ": name the address to listen on"));
  return HostPort{std::string(host), std::string(port)};
}

// An IPv4 address that is written as an IPv6 one (::ffff:0.0.0.0) is that IPv4 address.
tcp::endpoint Unmapped(const tcp::endpoint& endpoint) {
  const auto address = endpoint.address();
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return endpoint;
  return {make_address_v4(boost::asio::ip::v4_mapped, address.to_v6()), endpoint.port()};
}

}  // namespace

bool IsTcpEndpoint(std::string_view endpoint) { return endpoint.starts_with(kPrefix); }

absl::Status CheckTcpEndpoint(const std::string& endpoint) { return Split(endpoint).status(); }

absl::StatusOr<std::vector<tcp::endpoint>> ResolveTcpEndpoint(const std::string& endpoint,
                                                              bool any) {
  SB_ASSIGN_OR_RETURN(const HostPort place, Split(endpoint));
  boost::asio::io_context io;
  boost::system::error_code error;
  const auto found =
      tcp::resolver(io).resolve(place.host, place.port, tcp::resolver::passive, error);
  if (error)
    return absl::InvalidArgumentError(StrCat("--listen ", endpoint, ": ", error.message()));
  std::vector<tcp::endpoint> endpoints;
  for (const auto& one : found) {
    const tcp::endpoint address = Unmapped(one.endpoint());
    if (address.address().is_unspecified() && !any) {
      return absl::InvalidArgumentError(
          StrCat("--listen ", endpoint,
                 ": that is every interface of this machine; name one, or say --listen-any"));
    }
    if (std::find(endpoints.begin(), endpoints.end(), address) == endpoints.end())
      endpoints.push_back(address);
  }
  return endpoints;
}

}  // namespace sbump
