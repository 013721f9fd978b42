#include "tests/front/echo_server.h"

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "daemon/rpc/server.h"
#include "proto/sbump/v1/control.grpc.pb.h"

namespace sbump::test {

struct EchoServer::Service : v1::Control::CallbackService {
  explicit Service(const Connections& open) : connections(open) {}

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context, const v1::GetInfoRequest*,
                                    v1::GetInfoReply* reply) override {
    const absl::StatusOr<Caller> caller = connections.Find(context->peer());
    reply->set_version(caller.ok() ? ToString(*caller) : std::string(caller.status().message()));
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  const Connections& connections;
};

struct EchoServer::Server {
  std::unique_ptr<RpcServer> rpc;
};

EchoServer::EchoServer(const std::string& path)
    : service_(std::make_unique<Service>(connections_)), server_(std::make_unique<Server>()) {
  server_->rpc =
      *RpcServer::Start({service_.get()}, {.request_bytes = 32 << 20, .buffer_bytes = 256 << 20});
  auto door =
      FrontDoor::Open({.listen = {"unix:" + path}}, connections_,
                      [this](Fd fd, const Caller&) { server_->rpc->HandOver(std::move(fd)); });
  if (!door.ok()) abort();
  door_ = *std::move(door);
}

EchoServer::~EchoServer() {
  server_->rpc->Stop();
  door_.reset();
}

namespace {

grpc::Status GetInfo(int connected_fd, const v1::GetInfoRequest& request, v1::GetInfoReply& reply) {
  fcntl(connected_fd, F_SETFL, fcntl(connected_fd, F_GETFL) | O_NONBLOCK);
  const auto stub = v1::Control::NewStub(grpc::CreateInsecureChannelFromFd("sbumpd", connected_fd));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  return stub->GetInfo(&context, request, &reply);
}

}  // namespace

std::string WhoAmI(int connected_fd) {
  v1::GetInfoReply reply;
  const grpc::Status status = GetInfo(connected_fd, {}, reply);
  return status.ok() ? reply.version() : "failed: " + status.error_message();
}

int StatusOfLargeCall(int connected_fd, size_t bytes) {
  v1::GetInfoRequest request;
  // A field that this version does not know.
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(1)->assign(bytes,
                                                                                         'x');
  v1::GetInfoReply reply;
  return GetInfo(connected_fd, request, reply).error_code();
}

int ConnectTo(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), path.size());
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

}  // namespace sbump::test
