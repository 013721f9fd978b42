// The gRPC server. It listens nowhere: its connections come through the front door.
#pragma once

#include <memory>

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

class RpcServer {
 public:
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(grpc::Service* service);
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
