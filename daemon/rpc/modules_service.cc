#include "daemon/rpc/modules_service.h"

#include "daemon/base/str_cat.h"
#include "daemon/rpc/modules_to_proto.h"
#include "daemon/rpc/modules_watcher.h"
#include "daemon/rpc/piece_stream.h"

namespace sbump {

absl::StatusOr<ModulesResult> ModulesService::Look(const Caller& caller, pid_t pid,
                                                   const ModulesSpec& spec) {
  return RunModules(pid, spec, table_.environment(),
                    gate_.ReadAuthoriser(caller, Action::kModules, spec.max_stop_ns));
}

absl::StatusOr<std::vector<v1::ListModulesReply>> ModulesService::List(
    const Caller& caller, const v1::ListModulesRequest& request) {
  SB_RETURN_IF_ERROR(gate_.Allow(caller, {.action = Action::kModules}));
  SB_ASSIGN_OR_RETURN(const ModulesSpec spec, ToSpec(request));
  SB_ASSIGN_OR_RETURN(const ModulesResult result, Look(caller, request.pid(), spec));
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

absl::Status ModulesService::WatchTree(const Caller& caller, const v1::WatchModulesRequest& request,
                                       ModulesWatch& watch) {
  SB_RETURN_IF_ERROR(gate_.Allow(caller, {.action = Action::kModules}));
  SB_ASSIGN_OR_RETURN(const uint64_t interval_ns, ToLookInterval(request));
  SB_ASSIGN_OR_RETURN(ModulesSpec spec, ToSpec(request.tree()));
  const auto watcher = std::make_shared<ModulesWatcher>(std::move(spec));
  const pid_t pid = request.tree().pid();
  // Each time: the policy may have changed.
  const auto look = [this, caller, pid, watcher]() -> ModulesWatch::Updates {
    SB_RETURN_IF_ERROR(gate_.Allow(caller, {.action = Action::kModules}));
    return watcher->Take(Look(caller, pid, watcher->spec()));
  };
  watch.PostStart(std::chrono::nanoseconds(interval_ns), look);
  return absl::OkStatus();
}

grpc::ServerWriteReactor<v1::ModulesUpdate>* ModulesService::WatchModules(
    grpc::CallbackServerContext* context, const v1::WatchModulesRequest* request) {
  const std::shared_ptr<ModulesWatch> watch = ModulesWatch::Make(control_, blocking_);
  const absl::StatusOr<Caller> caller = connections_.Find(context->peer());
  absl::Status status = caller.ok() ? WatchTree(*caller, *request, *watch) : caller.status();
  if (!status.ok()) watch->PostEnd(Annotate(status, StrCat("pid ", request->tree().pid())));
  return watch.get();
}

// It takes them away: whoever may end the session may do that.
absl::Status ModulesService::Watch(const Caller& caller, const std::string& session_id,
                                   SpanStream& stream) {
  SB_RETURN_IF_ERROR(gate_.Allow(caller, {.action = Action::kWatch}));
  const std::shared_ptr<Session> session = table_.Find(session_id);
  if (session == nullptr) {
    return absl::NotFoundError(
        StrCat("no session ", session_id, " (sbumpctl list shows those there are)"));
  }
  SB_RETURN_IF_ERROR(gate_.AllowSession(caller, Action::kDetach, session_id));
  if (!session->spec().spans) {
    return absl::FailedPreconditionError(
        StrCat("session ", session_id, " was begun without spans: attach with them"));
  }
  stream.PostStart(session->spec().spans->hub);
  return absl::OkStatus();
}

grpc::ServerWriteReactor<v1::SpanBatch>* ModulesService::WatchSpans(
    grpc::CallbackServerContext* context, const v1::WatchSpansRequest* request) {
  const std::shared_ptr<SpanStream> stream = SpanStream::Make(control_);
  const absl::StatusOr<Caller> caller = connections_.Find(context->peer());
  absl::Status status =
      caller.ok() ? Watch(*caller, request->session_id(), *stream) : caller.status();
  if (!status.ok()) stream->PostEnd(std::move(status));
  return stream.get();
}

}  // namespace sbump
