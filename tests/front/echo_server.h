// The real front door and the real gRPC server, with a service that only says who called.
#pragma once

#include <memory>
#include <string>

#include "daemon/front/connections.h"
#include "daemon/front/front_door.h"
#include "tests/fakes/temp_dir.h"

namespace sbump::test {

// A directory with a short path: a socket's has at most 107 bytes.
class SocketDirectory {
 public:
  std::string socket() const { return dir_.path() + "/s"; }

 private:
  const TempDir dir_{"front"};
};

class EchoServer {
 public:
  // Listens on `path`.
  explicit EchoServer(const std::string& path);
  ~EchoServer();

  Connections& connections() { return connections_; }

 private:
  struct Service;
  struct Server;
  Connections connections_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<FrontDoor> door_;
};

// What GetInfo answers as its version over this connected socket, which it takes over; the words
// of the failure where there is none.
std::string WhoAmI(int connected_fd);

// The status code of a call of GetInfo whose message has `bytes` bytes more than it needs.
int StatusOfLargeCall(int connected_fd, size_t bytes);

// A plain connection to the socket, or -1.
int ConnectTo(const std::string& path);

}  // namespace sbump::test
