#include "daemon/rpc/server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>

#include <chrono>

namespace sbump {
namespace {

constexpr int kMaxCallsOfConnection = 64;
// Clients ask each 10 s whether the daemon is still there (client/channel.cc); one that asked more
// often than this would be hung up on.
constexpr int kMinPingIntervalMs = 5000;

using External = grpc::ServerBuilder::experimental_type::ExternalConnectionType;

}  // namespace

RpcServer::RpcServer() = default;

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const std::vector<grpc::Service*>& services, const RpcLimits& limits) {
  // Protobuf has a line for each text that is no UTF-8, before anybody knows who sent it: whoever
  // may connect could fill the log. The request is refused all the same.
  google::protobuf::SetLogHandler(nullptr);
  auto server = std::unique_ptr<RpcServer>(new RpcServer);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(limits.request_bytes);
  builder.SetResourceQuota(grpc::ResourceQuota("requests").Resize(limits.buffer_bytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsOfConnection);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingIntervalMs);
  for (grpc::Service* service : services) builder.RegisterService(service);
  // Insecure inside this process only: who calls is known before a connection comes here.
  server->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      External::FROM_FD, grpc::InsecureServerCredentials());
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) return absl::InternalError("gRPC's server does not start");
  return server;
}

void RpcServer::HandOver(Fd connection) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.fd = connection.Release();
  acceptor_->HandleNewConnection(&parameters);
}

void RpcServer::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
  server_->Wait();
}

RpcServer::~RpcServer() { Stop(); }

}  // namespace sbump
