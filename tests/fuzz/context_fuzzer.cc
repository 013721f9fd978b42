// The client's file of named daemons, and endpoints: what is taken leads to one place.
#include <cstdint>
#include <string>
#include <string_view>

#include "client/context_file.h"
#include "client/endpoint.h"
#include "tests/fuzz/require.h"

namespace {

using sbump::Require;

void CheckEndpoint(const sbump::Endpoint& endpoint) {
  Require(endpoint.path.empty() != endpoint.host.empty());
  const auto again = sbump::ParseEndpoint(endpoint.ToString());
  Require(again.ok());
  Require(again->path == endpoint.path && again->host == endpoint.host &&
          again->port == endpoint.port);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto endpoint = sbump::ParseEndpoint(text);
  if (endpoint.ok()) CheckEndpoint(*endpoint);
  const auto file = sbump::ParseContextFile("/home/user/f", text);
  if (!file.ok()) {
    Require(absl::IsInvalidArgument(file.status()));
    Require(file.status().message().substr(0, 13) == "/home/user/f:");
    return 0;
  }
  Require(file->current.empty() || file->Find(file->current) != nullptr);
  for (const sbump::Host& host : file->contexts) {
    CheckEndpoint(host.endpoint);
    for (const std::string& path : {host.tls.ca, host.tls.cert, host.tls.key})
      Require(path.empty() || path.front() == '/');
  }
  return 0;
}
