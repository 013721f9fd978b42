// A gRPC server for each role. gRPC reads a request before anybody can ask whose it is; where those
// on their way are too much, it cancels calls, whosever they are. So who may only look, or nothing
// at all, cannot end what is an operator's.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"
#include "daemon/policy/policy.h"
#include "daemon/rpc/server.h"

namespace sbump {

class RpcServers {
 public:
  // A service belongs to one server.
  using Services = std::vector<std::unique_ptr<grpc::Service>>;
  using MakeServices = std::function<Services()>;
  static absl::StatusOr<std::unique_ptr<RpcServers>> Start(const MakeServices& make_services);
  ~RpcServers();  // as Stop()

  // `role`: the caller's now. It counts for as long as the connection lasts; what the caller may do
  // is asked at each call. From any thread.
  void HandOver(Fd connection, std::optional<Role> role);

  // As RpcServer's, one after the other.
  void Stop();

 private:
  struct Served {
    Services services;
    std::unique_ptr<RpcServer> server;
  };
  static absl::StatusOr<Served> Serve(const MakeServices& make_services, const RpcLimits& limits);

  RpcServers() = default;
  Served operators_;
  Served viewers_;
  Served others_;
};

}  // namespace sbump
