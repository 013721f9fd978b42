// The gRPC server on its local sockets.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/base/status.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace sbump {

class RpcServer {
 public:
  // `endpoints` are "unix:/path.sock". Each socket is made 0600 and appears when the server
  // answers. kAlreadyExists when another daemon answers on one of them; a socket that nobody
  // answers on is replaced.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const std::vector<std::string>& endpoints,
                                                          grpc::Service* service);
  ~RpcServer();  // cancels what still runs, removes the sockets

 private:
  RpcServer();
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::string> paths_;
};

}  // namespace sbump
