// Where clients come in: accepts connections, learns from the kernel or from a certificate whose
// they are, and hands gRPC one end of a socket pair that bears the connection's number
// (connections.h). gRPC itself listens nowhere.
//
// A thread of its own does all of it, and nothing else.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"
#include "daemon/front/connections.h"
#include "daemon/front/tls.h"

namespace sbump {

struct FrontDoorOptions {
  std::vector<std::string> listen;  // "unix:/absolute/path.sock", "tcp:HOST:PORT"
  std::string socket_group;         // empty: the Unix sockets are this user's alone
  TlsFiles tls;                     // needed for tcp
  bool listen_any = false;          // tcp on every interface of the machine
};

// kInvalidArgument: the endpoint has none of these forms.
absl::Status CheckListen(const std::string& endpoint);

class FrontDoor {
 public:
  // Takes over the server's end of a caller's connection; any thread.
  using HandOver = std::function<void(Fd, const Caller&)>;

  // Clients can connect from its return on. `connections` outlives it.
  static absl::StatusOr<std::unique_ptr<FrontDoor>> Open(const FrontDoorOptions& options,
                                                         Connections& connections,
                                                         HandOver hand_over,
                                                         std::function<void()> on_tls_failure = {});
  virtual ~FrontDoor() = default;  // as Close(), and removes the sockets

  // Lets nobody in any more. What is under way has a second to end.
  virtual void Close() = 0;

  // Takes the TLS files anew, for connections from now on; with a mistake in them the old ones
  // stay.
  virtual absl::Status Reload() = 0;
};

}  // namespace sbump
