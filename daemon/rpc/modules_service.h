// sbump.v1.Modules.
#pragma once

#include <grpcpp/grpcpp.h>

#include "daemon/front/connections.h"
#include "daemon/gate/gate.h"
#include "daemon/rpc/blocking_work.h"
#include "daemon/session/attachment.h"
#include "proto/sbump/v1/modules.grpc.pb.h"

namespace sbump {

class ModulesService : public v1::Modules::CallbackService {
 public:
  ModulesService(const SessionEnvironment& environment, BlockingWork& blocking,
                 const Connections& connections, Gate& gate)
      : environment_(environment), blocking_(blocking), connections_(connections), gate_(gate) {}

  grpc::ServerWriteReactor<v1::ListModulesReply>* ListModules(
      grpc::CallbackServerContext* context, const v1::ListModulesRequest* request) override;

 private:
  absl::StatusOr<std::vector<v1::ListModulesReply>> List(const Caller& caller,
                                                         const v1::ListModulesRequest& request);

  const SessionEnvironment& environment_;
  BlockingWork& blocking_;
  const Connections& connections_;
  Gate& gate_;
};

}  // namespace sbump
