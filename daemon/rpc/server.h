// The gRPC server. It listens nowhere: its connections come through the front door.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"

namespace grpc {
class Server;
class Service;
namespace experimental {
class ExternalConnectionAcceptor;
}
}  // namespace grpc

namespace sbump {

struct RpcLimits {
  int request_bytes = 0;  // a larger one is refused: RESOURCE_EXHAUSTED
  // What all requests on their way may take together. Above it gRPC reads more slowly, and cancels
  // calls: any.
  size_t buffer_bytes = 0;
};

class RpcServer {
 public:
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const std::vector<grpc::Service*>& services, const RpcLimits& limits);
  ~RpcServer();  // as Stop()

  // Serves a connected, non-blocking stream socket. From any thread.
  void HandOver(Fd connection);

  // Cancels what still runs after two seconds, and closes all connections.
  void Stop();

 private:
  RpcServer();
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
};

}  // namespace sbump
