#include "daemon/rpc/servers.h"

#include <utility>

namespace sbump {
namespace {

constexpr RpcLimits kOperators = {.request_bytes = 32 << 20, .buffer_bytes = 256 << 20};
constexpr RpcLimits kViewers = {.request_bytes = 32 << 20, .buffer_bytes = 128 << 20};
// All that they get is a refusal.
constexpr RpcLimits kOthers = {.request_bytes = 1 << 20, .buffer_bytes = 32 << 20};

}  // namespace

absl::StatusOr<RpcServers::Served> RpcServers::Serve(const MakeServices& make_services,
                                                     const RpcLimits& limits) {
  Served served{.services = make_services()};
  std::vector<grpc::Service*> services;
  for (const auto& service : served.services) services.push_back(service.get());
  SB_ASSIGN_OR_RETURN(served.server, RpcServer::Start(services, limits));
  return served;
}

absl::StatusOr<std::unique_ptr<RpcServers>> RpcServers::Start(const MakeServices& make_services) {
  auto servers = std::unique_ptr<RpcServers>(new RpcServers);
  SB_ASSIGN_OR_RETURN(servers->operators_, Serve(make_services, kOperators));
  SB_ASSIGN_OR_RETURN(servers->viewers_, Serve(make_services, kViewers));
  SB_ASSIGN_OR_RETURN(servers->others_, Serve(make_services, kOthers));
  return servers;
}

void RpcServers::HandOver(Fd connection, std::optional<Role> role) {
  const Served& served = !role ? others_ : *role == Role::kViewer ? viewers_ : operators_;
  served.server->HandOver(std::move(connection));
}

void RpcServers::Stop() {
  for (const Served* served : {&operators_, &viewers_, &others_})
    if (served->server != nullptr) served->server->Stop();
}

RpcServers::~RpcServers() { Stop(); }

}  // namespace sbump
