#include "daemon/rpc/experiments_service.h"

#include <utility>

namespace sbump {

grpc::ServerBidiReactor<v1::RunRequest, v1::RunReply>* ExperimentsService::Run(
    grpc::CallbackServerContext* context) {
  const std::shared_ptr<ExperimentCall> call = ExperimentCall::Make(control_);
  absl::StatusOr<Caller> caller = connections_.Find(context->peer());
  if (caller.ok()) {
    if (absl::Status status = gate_.Allow(*caller, {.action = Action::kAttach}); !status.ok())
      caller = std::move(status);
  }
  if (!caller.ok()) {
    call->PostEnd(caller.status());
    return call.get();
  }
  const auto job =
      std::make_shared<ExperimentJob>(table_, gate_, control_, *std::move(caller), call);
  call->PostStart({.on_message = [job](v1::RunRequest request) { job->Take(std::move(request)); },
                   .on_gone = [job] { job->ClientGone(); }});
  return call.get();
}

}  // namespace sbump
