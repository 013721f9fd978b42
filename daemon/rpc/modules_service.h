// sbump.v1.Modules.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>

#include "daemon/front/connections.h"
#include "daemon/gate/gate.h"
#include "daemon/rpc/blocking_work.h"
#include "daemon/rpc/control_thread.h"
#include "daemon/rpc/modules_watch.h"
#include "daemon/rpc/span_stream.h"
#include "daemon/session/modules_run.h"
#include "daemon/session/session_table.h"
#include "proto/sbump/v1/modules.grpc.pb.h"

namespace sbump {

class ModulesService : public v1::Modules::CallbackService {
 public:
  ModulesService(const SessionTable& table, ControlThread& control, BlockingWork& blocking,
                 const Connections& connections, Gate& gate)
      : table_(table),
        control_(control),
        blocking_(blocking),
        connections_(connections),
        gate_(gate) {}

  grpc::ServerWriteReactor<v1::ListModulesReply>* ListModules(
      grpc::CallbackServerContext* context, const v1::ListModulesRequest* request) override;
  grpc::ServerWriteReactor<v1::ModulesUpdate>* WatchModules(
      grpc::CallbackServerContext* context, const v1::WatchModulesRequest* request) override;
  grpc::ServerWriteReactor<v1::SpanBatch>* WatchSpans(
      grpc::CallbackServerContext* context, const v1::WatchSpansRequest* request) override;

 private:
  absl::StatusOr<ModulesResult> Look(const Caller& caller, pid_t pid, const ModulesSpec& spec);
  absl::StatusOr<std::vector<v1::ListModulesReply>> List(const Caller& caller,
                                                         const v1::ListModulesRequest& request);
  absl::StatusOr<std::shared_ptr<void>> AdmitWatch();
  absl::Status WatchTree(const Caller& caller, const v1::WatchModulesRequest& request,
                         ModulesWatch& watch);
  absl::Status WatchSpansOf(const Caller& caller, const std::string& session_id,
                            SpanStream& stream);

  // Each keeps a tree, and may keep a thread of BlockingWork.
  static constexpr int kMostWatches = 6;

  const SessionTable& table_;
  ControlThread& control_;
  BlockingWork& blocking_;
  const Connections& connections_;
  Gate& gate_;
  std::atomic<int> watches_ = 0;
};

}  // namespace sbump
