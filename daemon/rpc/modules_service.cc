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

// Until what is returned is gone.
absl::StatusOr<std::shared_ptr<void>> ModulesService::AdmitWatch() {
  const std::shared_ptr<void> admitted(nullptr, [this](void*) { --watches_; });
  if (++watches_ <= kMostWatches) return admitted;
  return absl::ResourceExhaustedError(
      StrCat(kMostWatches, " clients watch the modules of processes already, which is the most"));
}

absl::Status ModulesService::WatchTree(const Caller& caller, const v1::WatchModulesRequest& request,
                                       ModulesWatch& watch) {
  SB_RETURN_IF_ERROR(gate_.Allow(caller, {.action = Action::kModules}));
  SB_ASSIGN_OR_RETURN(const uint64_t interval_ns, ToLookInterval(request));
  SB_ASSIGN_OR_RETURN(ModulesSpec spec, ToSpec(request.tree()));
  SB_ASSIGN_OR_RETURN(const std::shared_ptr<void> admitted, AdmitWatch());
  // Of no session: its role is what a reload judges, and the next look the process.
  const auto kept =
      gate_.KeepWatch(caller, "", [weak = watch.weak_from_this()](absl::Status revoked) {
        if (const auto to = weak.lock()) to->PostEnd(std::move(revoked));
      });
  const auto watcher = std::make_shared<ModulesWatcher>(std::move(spec));
  // Asked each time: of a process, too, the policy may say something else by now.
  const auto look = [this, caller, pid = request.tree().pid(), watcher, admitted,
                     kept]() -> ModulesWatch::Updates {
    SB_RETURN_IF_ERROR(gate_.Allow(caller, {.action = Action::kModules}));
    return watcher->Take(Look(caller, pid, watcher->spec()));
  };
  watch.PostStart(std::chrono::nanoseconds(interval_ns), look);
  return absl::OkStatus();
}

grpc::ServerWriteReactor<v1::ModulesUpdate>* ModulesService::WatchModules(
    grpc::CallbackServerContext* context, const v1::WatchModulesRequest* request) {
  const std::shared_ptr<ModulesWatch> watch =
      ModulesWatch::Make(control_, blocking_, StrCat("pid ", request->tree().pid()));
  const absl::StatusOr<Caller> caller = connections_.Find(context->peer());
  absl::Status status = caller.ok() ? WatchTree(*caller, *request, *watch) : caller.status();
  if (!status.ok()) watch->PostEnd(std::move(status));
  return watch.get();
}

// It takes them away: whoever may end the session may do that.
absl::Status ModulesService::WatchSpansOf(const Caller& caller, const std::string& session_id,
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
  const auto end = [weak = stream.weak_from_this()](absl::Status why) {
    // As the daemon ends its session has ended before, and the rest is read.
    if (absl::IsUnavailable(why)) return;
    if (const auto to = weak.lock()) to->PostEnd(std::move(why));
  };
  stream.PostStart(session->spec().spans->hub,
                   [this, watch = gate_.KeepWatch(caller, session_id, end, Action::kDetach)] {
                     return gate_.MayShow(*watch);
                   });
  return absl::OkStatus();
}

grpc::ServerWriteReactor<v1::SpanBatch>* ModulesService::WatchSpans(
    grpc::CallbackServerContext* context, const v1::WatchSpansRequest* request) {
  const std::shared_ptr<SpanStream> stream = SpanStream::Make(control_);
  const absl::StatusOr<Caller> caller = connections_.Find(context->peer());
  absl::Status status =
      caller.ok() ? WatchSpansOf(*caller, request->session_id(), *stream) : caller.status();
  if (!status.ok()) stream->PostEnd(std::move(status));
  return stream.get();
}

}  // namespace sbump
