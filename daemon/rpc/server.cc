#include "daemon/rpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "daemon/base/fd.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr int kMaxRequestBytes = 32 << 20;
constexpr std::string_view kUnixPrefix = "unix:";

absl::StatusOr<std::string> SocketPath(const std::string& endpoint) {
  if (!endpoint.starts_with(kUnixPrefix) || endpoint.substr(kUnixPrefix.size(), 1) != "/") {
    return absl::InvalidArgumentError(
        StrCat("--listen ", endpoint, ": give unix:/absolute/path.sock"));
  }
  std::string path = endpoint.substr(kUnixPrefix.size());
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(StrCat("--listen ", endpoint, ": the path is longer than ",
                                             sizeof(sockaddr_un::sun_path) - 1, " bytes"));
  }
  return path;
}

bool SomebodyAnswers(const std::string& path) {
  Fd socket_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.c_str(), path.size());
  return connect(socket_fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
         0;
}

absl::Status ClearTheWay(const std::string& path) {
  struct stat st;
  if (lstat(path.c_str(), &st) != 0) {
    return errno == ENOENT ? absl::OkStatus() : ErrnoStatus(errno, StrCat("--listen ", path));
  }
  if (!S_ISSOCK(st.st_mode))
    return absl::AlreadyExistsError(
        StrCat("--listen ", path, ": a file that is no socket is there"));
  if (SomebodyAnswers(path))
    return absl::AlreadyExistsError(StrCat("another sbumpd answers on ", path));
  if (unlink(path.c_str()) != 0)
    return ErrnoStatus(errno, StrCat("removing the old socket ", path));
  return absl::OkStatus();
}

}  // namespace

RpcServer::RpcServer() = default;

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const std::vector<std::string>& endpoints, grpc::Service* service) {
  auto server = std::unique_ptr<RpcServer>(new RpcServer);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  builder.RegisterService(service);
  for (const std::string& endpoint : endpoints) {
    SB_ASSIGN_OR_RETURN(std::string path, SocketPath(endpoint));
    SB_RETURN_IF_ERROR(ClearTheWay(path));
    builder.AddListeningPort(endpoint, grpc::InsecureServerCredentials());
    server->paths_.push_back(std::move(path));
  }
  const mode_t old_mask = umask(0177);
  server->server_ = builder.BuildAndStart();
  umask(old_mask);
  if (server->server_ == nullptr) {
    return absl::UnavailableError(
        StrCat("cannot listen on ", endpoints.empty() ? "nothing" : endpoints.front(),
               ": does its directory exist, and may this user write to it?"));
  }
  return server;
}

RpcServer::~RpcServer() {
  if (server_ != nullptr) {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
    server_->Wait();
  }
  for (const std::string& path : paths_) unlink(path.c_str());
}

}  // namespace sbump
