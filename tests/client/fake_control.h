// A daemon that does as it is told: an in-process gRPC server on a Unix socket of its own.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/sbump/v1/control.pb.h"
#include "proto/sbump/v1/experiments.pb.h"
#include "proto/sbump/v1/modules.pb.h"
#include "tests/fakes/temp_dir.h"

namespace sbump::test {

// What a streaming call does, in order.
struct StreamScript {
  std::chrono::milliseconds silence{0};  // before all others
  std::vector<v1::SessionUpdate> first;
  std::chrono::milliseconds pause{0};  // after each of `first`
  bool wait_for_detach = false;        // or until the client cancels
  bool wait_for_cancel = false;
  std::vector<v1::SessionUpdate> last;  // not sent to a client that cancelled
  absl::Status status;
};

// What one experiment does, in order.
struct ExperimentScript {
  std::vector<v1::RunReply> first;
  bool wait_for_approval = false;  // where that is no, the rest but `status` does not come
  bool wait_for_stop = false;      // or until the client cancels
  bool wait_for_cancel = false;
  std::vector<v1::RunReply> last;  // not sent to a client that cancelled
  absl::Status status;
};

// Answers of the calls. Set before the client runs; a status that is not OK comes instead of a
// reply.
struct Script {
  StreamScript attach;
  StreamScript watch;
  std::vector<v1::MatchReply> match;
  std::vector<v1::ListModulesReply> modules;
  std::vector<v1::SpanBatch> spans;
  std::vector<ExperimentScript> experiments;  // of one call after the other
  std::vector<v1::ModulesUpdate> modules_updates;
  bool modules_wait_for_cancel = false;  // after these
  v1::UpdateReply update;
  v1::DetachReply detach;
  v1::ListSessionsReply list;
  v1::InspectReply inspect;
  v1::GetInfoReply info;
  absl::Status status;  // of every call but the streams
};

// What the clients asked for.
struct Requests {
  std::vector<v1::AttachRequest> attach;
  std::vector<v1::WatchRequest> watch;
  std::vector<v1::MatchRequest> match;
  std::vector<v1::ListModulesRequest> modules;
  std::vector<v1::WatchModulesRequest> watch_modules;
  std::vector<v1::UpdateRequest> update;
  std::vector<v1::DetachRequest> detach;
  std::vector<v1::InspectRequest> inspect;
  std::vector<v1::Experiment> experiments;
  std::vector<bool> approvals;
  int stops = 0;
  int cancelled_streams = 0;
};

// A new directory with a short path for a socket; removed with the object.
class SocketDirectory {
 public:
  std::string socket() const { return file("s"); }
  std::string file(const std::string& name) const { return dir_.path() + "/" + name; }

 private:
  const TempDir dir_{"client"};
};

class FakeControl {
 public:
  // Serves from now on. Whoever gives a socket keeps its directory.
  explicit FakeControl(Script script);
  FakeControl(Script script, const std::string& socket);
  ~FakeControl();

  std::string endpoint() const;
  // A copy, as of now.
  Requests requests() const;

 private:
  class Service;
  class ModulesService;
  class ExperimentsService;
  struct Server;
  std::unique_ptr<SocketDirectory> directory_;
  std::string socket_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<ModulesService> modules_;
  std::unique_ptr<ExperimentsService> experiments_;
  std::unique_ptr<Server> server_;
};

}  // namespace sbump::test
