// sbump.v1.Experiments.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <vector>

#include "daemon/front/connections.h"
#include "daemon/gate/gate.h"
#include "daemon/rpc/control_thread.h"
#include "daemon/rpc/experiment_job.h"
#include "daemon/session/session_table.h"
#include "proto/sbump/v1/experiments.grpc.pb.h"

namespace sbump {

class ExperimentsService : public v1::Experiments::CallbackService {
 public:
  ExperimentsService(SessionTable& table, ControlThread& control, const Connections& connections,
                     Gate& gate)
      : table_(table), control_(control), connections_(connections), gate_(gate) {}

  grpc::ServerBidiReactor<v1::RunRequest, v1::RunReply>* Run(
      grpc::CallbackServerContext* context) override;

 private:
  SessionTable& table_;
  ControlThread& control_;
  const Connections& connections_;
  Gate& gate_;
};

}  // namespace sbump
