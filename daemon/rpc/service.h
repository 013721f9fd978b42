// sbump.v1.Control: checks requests, hands them to the session table, and turns what comes back
// into messages. Decides nothing itself.
#pragma once

#include <grpcpp/grpcpp.h>

#include "daemon/front/connections.h"
#include "daemon/gate/gate.h"
#include "daemon/rpc/blocking_work.h"
#include "daemon/rpc/control_thread.h"
#include "daemon/rpc/update_stream.h"
#include "daemon/session/session_table.h"
#include "proto/sbump/v1/control.grpc.pb.h"

namespace sbump {

class ControlService : public v1::Control::CallbackService {
 public:
  ControlService(SessionTable& table, ControlThread& control, BlockingWork& blocking,
                 const Connections& connections, Gate& gate);

  grpc::ServerWriteReactor<v1::SessionUpdate>* Attach(grpc::CallbackServerContext* context,
                                                      const v1::AttachRequest* request) override;
  grpc::ServerWriteReactor<v1::MatchReply>* Match(grpc::CallbackServerContext* context,
                                                  const v1::MatchRequest* request) override;
  grpc::ServerUnaryReactor* Update(grpc::CallbackServerContext* context,
                                   const v1::UpdateRequest* request,
                                   v1::UpdateReply* reply) override;
  grpc::ServerUnaryReactor* Detach(grpc::CallbackServerContext* context,
                                   const v1::DetachRequest* request,
                                   v1::DetachReply* reply) override;
  grpc::ServerUnaryReactor* ListSessions(grpc::CallbackServerContext* context,
                                         const v1::ListSessionsRequest* request,
                                         v1::ListSessionsReply* reply) override;
  grpc::ServerWriteReactor<v1::SessionUpdate>* Watch(grpc::CallbackServerContext* context,
                                                     const v1::WatchRequest* request) override;
  grpc::ServerUnaryReactor* Inspect(grpc::CallbackServerContext* context,
                                    const v1::InspectRequest* request,
                                    v1::InspectReply* reply) override;
  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context,
                                    const v1::GetInfoRequest* request,
                                    v1::GetInfoReply* reply) override;

 private:
  absl::StatusOr<Caller> CallerOf(const grpc::CallbackServerContext& context) const;
  // Who calls, where it may do this.
  absl::StatusOr<Caller> Allow(const grpc::CallbackServerContext& context, Action action);
  std::vector<std::shared_ptr<Session>> Selected(const v1::DetachRequest& request,
                                                 const Caller& caller) const;
  absl::Status AllowDetach(const std::vector<std::shared_ptr<Session>>& sessions,
                           const Caller& caller);
  void BeginSession(const std::shared_ptr<UpdateStream>& stream, AttachSpec spec,
                    const std::shared_ptr<Admission>& admission);

  SessionTable& table_;
  ControlThread& control_;
  BlockingWork& blocking_;
  const Connections& connections_;
  Gate& gate_;
  const uint64_t started_unix_ns_;
};

}  // namespace sbump
