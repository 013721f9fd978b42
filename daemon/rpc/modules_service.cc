#include "daemon/rpc/modules_service.h"

#include "daemon/base/str_cat.h"
#include "daemon/rpc/modules_to_proto.h"
#include "daemon/rpc/piece_stream.h"

namespace sbump {

absl::StatusOr<std::vector<v1::ListModulesReply>> ModulesService::List(
    const Caller& caller, const v1::ListModulesRequest& request) {
  SB_RETURN_IF_ERROR(gate_.Allow(caller, {.action = Action::kModules}));
  SB_ASSIGN_OR_RETURN(const ModulesSpec spec, ToSpec(request));
  SB_ASSIGN_OR_RETURN(const ModulesResult result,
                      RunModules(request.pid(), spec, environment_,
                                 gate_.ReadAuthoriser(caller, Action::kModules, spec.max_stop_ns)));
  return ToReplies(result, spec);
}

grpc::ServerWriteReactor<v1::ListModulesReply>* ModulesService::ListModules(
    grpc::CallbackServerContext* context, const v1::ListModulesRequest* request) {
  auto* stream = new PieceStream<v1::ListModulesReply>;
  const auto list = [this, caller = connections_.Find(context->peer()),
                     request = *request]() -> absl::StatusOr<std::vector<v1::ListModulesReply>> {
    SB_RETURN_IF_ERROR(caller.status());
    return List(*caller, request);
  };
  blocking_.Start([stream, list] { return [stream, pieces = list()] { stream->Send(pieces); }; },
                  [stream, pid = request->pid()](const absl::Status& status) {
                    stream->Send(Annotate(status, StrCat("pid ", pid)));
                  });
  return stream;
}

}  // namespace sbump
