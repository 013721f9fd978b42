#include "daemon/rpc/service.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "daemon/base/clock.h"
#include "daemon/base/machine.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/version.h"
#include "daemon/rpc/grpc_status.h"
#include "daemon/rpc/piece_stream.h"
#include "daemon/rpc/to_proto.h"
#include "daemon/rpc/to_spec.h"
#include "daemon/rpc/wire_text.h"

namespace sbump {
namespace {

constexpr auto kDetachPoll = std::chrono::milliseconds(5);
constexpr auto kLongestDetach = std::chrono::seconds(30);

grpc::ServerUnaryReactor* FinishAtOnce(grpc::CallbackServerContext* context,
                                       const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status));
  return reactor;
}

std::string RoleText(std::optional<Role> role) {
  if (!role) return "none";
  return *role == Role::kOperator ? "operator" : "viewer";
}

absl::Status NoSuchSession(const std::string& id) {
  return absl::NotFoundError(StrCat("no session ", id, " (sbumpctl list shows those there are)"));
}

absl::StatusOr<std::vector<v1::MatchReply>> Match(const v1::MatchRequest& request,
                                                  const SessionEnvironment& environment,
                                                  const Caller& caller, Gate& gate) {
  if (!request.selection().modules().empty()) {
    return absl::InvalidArgumentError(
        "modules: what their patterns take is what ListModules answers (sbumpctl modules)");
  }
  TargetRules rules;
  SB_ASSIGN_OR_RETURN(rules.targets, ToTargets(request.selection()));
  SB_ASSIGN_OR_RETURN(rules.natives, ToNatives(request.selection()));
  const uint64_t max_stop_ns =
      request.max_stop_ns() == 0 ? kDefaultMaxStopNs : request.max_stop_ns();
  if (max_stop_ns > kLargestMaxStopNs)
    return absl::InvalidArgumentError("max_stop_ns is above 10 s");
  SB_ASSIGN_OR_RETURN(MatchResult result, RunMatch(request.pid(), rules, max_stop_ns, environment,
                                                   gate.MatchAuthoriser(caller, max_stop_ns)));
  return ToMatchReplies(result);
}

// Waits (on a worker) until the session is gone from the table, then reports its proof.
absl::Status AwaitDetached(const SessionTable& table, const std::shared_ptr<Session>& session,
                           v1::DetachReply& reply) {
  const auto deadline = std::chrono::steady_clock::now() + kLongestDetach;
  while (table.Find(session->id()) != nullptr) {
    if (std::chrono::steady_clock::now() > deadline) {
      return absl::DeadlineExceededError(
          StrCat("session ", session->id(), " is still detaching after 30 s"));
    }
    std::this_thread::sleep_for(kDetachPoll);
  }
  v1::DetachReply::Detached& detached = *reply.add_sessions();
  detached.set_session_id(session->id());
  const std::shared_ptr<const SessionSnapshot> last = session->latest();
  if (last != nullptr && !last->processes.empty())
    detached.set_pid(last->processes.front()->process.pid);
  if (last != nullptr && last->end != nullptr)
    ToProto(last->end->proof, *detached.mutable_detach_proof());
  return absl::OkStatus();
}

void Summarise(const Session& session, v1::SessionSummary& summary) {
  summary.set_session_id(session.id());
  summary.set_client_name(session.spec().client_name);
  summary.set_started_unix_ns(session.started_unix_ns());
  summary.set_expires_unix_ns(session.started_unix_ns() + session.spec().ttl_ns);
  summary.set_mode(ToProto(session.spec().mode));
  summary.set_on(ToProto(session.spec().on));
  summary.mutable_process()->set_pid(session.spec().pid);
  const std::shared_ptr<const SessionSnapshot> latest = session.latest();
  if (latest == nullptr) return;
  summary.set_state(ToProto(latest->state));
  if (!latest->processes.empty())
    ToProto(latest->processes.front()->process, *summary.mutable_process());
  summary.set_delay_ns(latest->delay_ns);
  uint64_t targets = 0, calls = 0, injected_ns = 0;
  uint32_t processes = 0;
  for (const auto& process : latest->processes) {
    targets += process->rows.size();
    processes += process->end == nullptr;
    for (const RowCounters& row : process->counters) {
      calls += row.calls;
      injected_ns += row.injected_delay_ns;
    }
  }
  summary.set_targets(targets);
  summary.set_processes(processes);
  summary.set_calls(calls);
  summary.set_injected_delay_ns(injected_ns);
  for (const PatternCounters& pattern : latest->patterns) summary.add_patterns(pattern.pattern);
}

}  // namespace

ControlService::ControlService(SessionTable& table, ControlThread& control, BlockingWork& blocking,
                               const Connections& connections, Gate& gate)
    : table_(table),
      control_(control),
      blocking_(blocking),
      connections_(connections),
      gate_(gate),
      started_unix_ns_(UnixNs()) {}

absl::StatusOr<Caller> ControlService::CallerOf(const grpc::CallbackServerContext& context) const {
  return connections_.Find(context.peer());
}

absl::StatusOr<Caller> ControlService::Allow(const grpc::CallbackServerContext& context,
                                             Action action) {
  SB_ASSIGN_OR_RETURN(Caller caller, CallerOf(context));
  SB_RETURN_IF_ERROR(gate_.Allow(caller, {.action = action}));
  return caller;
}

grpc::ServerWriteReactor<v1::SessionUpdate>* ControlService::Attach(
    grpc::CallbackServerContext* context, const v1::AttachRequest* request) {
  const std::shared_ptr<UpdateStream> stream = UpdateStream::Make(control_);
  const absl::StatusOr<Caller> caller = Allow(*context, Action::kAttach);
  absl::StatusOr<AttachSpec> spec = caller.ok() ? ToSpec(*request) : caller.status();
  if (!spec.ok()) {
    stream->PostEnd(spec.status());
    return stream.get();
  }
  // What a client says of itself counts only where it is root.
  if (!caller->IsLocal() || caller->uid != 0) spec->client_name = ToString(*caller);
  control_.Post([this, stream, caller = *caller, spec = *std::move(spec)]() mutable {
    spec.trap_costs = table_.environment().calibration->costs();
    const absl::StatusOr<std::shared_ptr<Admission>> admission = gate_.Admit(caller, spec);
    if (!admission.ok()) return stream->PostEnd(admission.status());
    BeginSession(stream, std::move(spec), *admission);
  });
  return stream.get();
}

void ControlService::BeginSession(const std::shared_ptr<UpdateStream>& stream, AttachSpec spec,
                                  const std::shared_ptr<Admission>& admission) {
  const bool keep = spec.keep;
  const std::weak_ptr<UpdateStream> weak = stream;
  absl::StatusOr<std::shared_ptr<Session>> session = table_.Begin(
      std::move(spec),
      [weak, admission](std::shared_ptr<const SessionSnapshot> snapshot) {
        admission->OnSnapshot(snapshot);
        // A failed attach ends the stream with its status.
        if (snapshot->end != nullptr && snapshot->end->failed) return;
        if (const auto to = weak.lock()) to->PostSnapshot(std::move(snapshot));
      },
      [weak, admission](absl::Status status) {
        admission->Ended(status);
        if (const auto to = weak.lock()) to->PostEnd(std::move(status));
      });
  if (!session.ok()) return stream->PostEnd(session.status());
  admission->Began(*session);
  if (keep) return;
  stream->PostCancelHandler([this, id = (*session)->id()] {
    if (const auto found = table_.Find(id)) found->Stop("client gone");
  });
}

grpc::ServerWriteReactor<v1::MatchReply>* ControlService::Match(
    grpc::CallbackServerContext* context, const v1::MatchRequest* request) {
  auto* stream = new PieceStream<v1::MatchReply>;
  const auto match = [this, caller = CallerOf(*context),
                      request = *request]() -> absl::StatusOr<std::vector<v1::MatchReply>> {
    SB_RETURN_IF_ERROR(caller.status());
    SB_RETURN_IF_ERROR(gate_.Allow(*caller, {.action = Action::kMatch}));
    return sbump::Match(request, table_.environment(), *caller, gate_);
  };
  blocking_.Start([stream, match] { return [stream, pieces = match()] { stream->Send(pieces); }; },
                  [stream, pid = request->pid()](const absl::Status& status) {
                    stream->Send(Annotate(status, StrCat("pid ", pid)));
                  });
  return stream;
}

grpc::ServerUnaryReactor* ControlService::Update(grpc::CallbackServerContext* context,
                                                 const v1::UpdateRequest* request,
                                                 v1::UpdateReply* reply) {
  const absl::StatusOr<Caller> caller = Allow(*context, Action::kUpdate);
  if (!caller.ok()) return FinishAtOnce(context, caller.status());
  absl::StatusOr<RulesChange> change = ToChange(*request);
  if (!change.ok()) return FinishAtOnce(context, change.status());
  const std::shared_ptr<Session> session = table_.Find(request->session_id());
  if (session == nullptr) return FinishAtOnce(context, NoSuchSession(request->session_id()));
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto done = [reactor, reply](absl::StatusOr<RulesInForce> now) {
    if (now.ok()) ToProto(*now, *reply);
    reactor->Finish(ToGrpc(now.status()));
  };
  control_.PostWork([this, caller = *caller, session, done, change = *std::move(change)]() mutable {
    const TargetRules before = session->rules();
    absl::Status status = gate_.AllowUpdate(caller, session->id(), before, change);
    if (status.ok()) status = CheckArm(before, change);
    // Here, where one may wait for the disk: the session's own thread may not.
    if (status.ok()) status = gate_.NoteUpdate(caller, session->id(), Changed(before, change));
    status.ok() ? session->ChangeRules(std::move(change), done) : done(status);
  });
  return reactor;
}

std::vector<std::shared_ptr<Session>> ControlService::Selected(const v1::DetachRequest& request,
                                                               const Caller& caller) const {
  if (request.all()) {
    // All that the caller may end.
    std::vector<std::shared_ptr<Session>> all = table_.All();
    std::erase_if(all, [&](const auto& session) { return !gate_.MayEnd(caller, session->id()); });
    return all;
  }
  const std::shared_ptr<Session> one =
      request.has_pid() ? table_.FindByPid(request.pid()) : table_.Find(request.session_id());
  if (one == nullptr) return {};
  return {one};
}

absl::Status ControlService::AllowDetach(const std::vector<std::shared_ptr<Session>>& sessions,
                                         const Caller& caller) {
  for (const auto& session : sessions) {
    absl::Status status = gate_.AllowSession(caller, Action::kDetach, session->id());
    // One that ended meanwhile needs no leave.
    if (!status.ok() && table_.Find(session->id()) != nullptr) return status;
  }
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* ControlService::Detach(grpc::CallbackServerContext* context,
                                                 const v1::DetachRequest* request,
                                                 v1::DetachReply* reply) {
  const absl::StatusOr<Caller> caller = Allow(*context, Action::kDetach);
  if (!caller.ok()) return FinishAtOnce(context, caller.status());
  const std::vector<std::shared_ptr<Session>> sessions = Selected(*request, *caller);
  if (sessions.empty() && !request->all()) {
    return FinishAtOnce(context, request->has_pid() ? absl::NotFoundError(StrCat(
                                                          "no session on pid ", request->pid()))
                                                    : NoSuchSession(request->session_id()));
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  control_.PostWork([this, caller = *caller, sessions, reply, reactor] {
    absl::Status status = AllowDetach(sessions, caller);
    if (!status.ok()) return reactor->Finish(ToGrpc(status));
    for (const auto& session : sessions) {
      session->Stop("detached");
      gate_.NoteDetach(caller, session->id());  // may wait for the disk
    }
    for (const auto& session : sessions) {
      if (status.ok()) status = AwaitDetached(table_, session, *reply);
    }
    reactor->Finish(ToGrpc(status));
  });
  return reactor;
}

grpc::ServerUnaryReactor* ControlService::ListSessions(grpc::CallbackServerContext* context,
                                                       const v1::ListSessionsRequest*,
                                                       v1::ListSessionsReply* reply) {
  const absl::StatusOr<Caller> caller = Allow(*context, Action::kList);
  if (!caller.ok()) return FinishAtOnce(context, caller.status());
  for (const std::shared_ptr<Session>& session : table_.All()) {
    if (!gate_.MaySee(*caller, session->id())) continue;
    Summarise(*session, *reply->add_sessions());
  }
  return FinishAtOnce(context, absl::OkStatus());
}

grpc::ServerWriteReactor<v1::SessionUpdate>* ControlService::Watch(
    grpc::CallbackServerContext* context, const v1::WatchRequest* request) {
  const std::shared_ptr<UpdateStream> stream = UpdateStream::Make(control_);
  const absl::StatusOr<Caller> caller = Allow(*context, Action::kWatch);
  if (!caller.ok()) {
    stream->PostEnd(caller.status());
    return stream.get();
  }
  const std::shared_ptr<Session> session = table_.Find(request->session_id());
  absl::Status status = session == nullptr
                            ? NoSuchSession(request->session_id())
                            : gate_.AllowSession(*caller, Action::kWatch, session->id());
  if (!status.ok()) {
    stream->PostEnd(std::move(status));
    return stream.get();
  }
  const std::weak_ptr<UpdateStream> weak = stream;
  auto watch = gate_.KeepWatch(*caller, session->id(), [weak](absl::Status revoked) {
    if (const auto to = weak.lock()) to->PostEnd(std::move(revoked));
  });
  const int sink = session->AddSink([&gate = gate_, weak, watch = std::move(watch)](
                                        const std::shared_ptr<const SessionSnapshot>& snapshot) {
    const auto to = weak.lock();
    if (to == nullptr || !gate.MayShow(*watch)) return;
    to->PostSnapshot(snapshot);
    if (snapshot->end != nullptr) to->PostEnd(absl::OkStatus());
  });
  stream->PostCancelHandler([this, id = session->id(), sink] {
    if (const auto found = table_.Find(id)) found->RemoveSink(sink);
  });
  return stream.get();
}

grpc::ServerUnaryReactor* ControlService::Inspect(grpc::CallbackServerContext* context,
                                                  const v1::InspectRequest* request,
                                                  v1::InspectReply* reply) {
  const absl::StatusOr<Caller> caller = Allow(*context, Action::kInspect);
  if (!caller.ok()) return FinishAtOnce(context, caller.status());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto inspect = [this, caller = *caller, pid = request->pid()] {
    return Diagnose(pid, table_.environment(), gate_.ReadAuthoriser(caller, Action::kInspect));
  };
  blocking_.Start(
      [inspect, reply, reactor] {
        return [diagnosis = inspect(), reply, reactor] {
          if (diagnosis.ok()) ToProto(*diagnosis, *reply);
          reactor->Finish(ToGrpc(diagnosis.status()));
        };
      },
      [reactor, pid = request->pid()](const absl::Status& status) {
        reactor->Finish(ToGrpc(Annotate(status, StrCat("pid ", pid))));
      });
  return reactor;
}

grpc::ServerUnaryReactor* ControlService::GetInfo(grpc::CallbackServerContext* context,
                                                  const v1::GetInfoRequest*,
                                                  v1::GetInfoReply* reply) {
  const absl::StatusOr<Caller> caller = Allow(*context, Action::kInfo);
  if (!caller.ok()) return FinishAtOnce(context, caller.status());
  reply->set_caller(ToString(*caller));
  reply->set_role(RoleText(gate_.RoleOf(*caller)));
  reply->set_version(kVersion);
  reply->set_pid(getpid());
  reply->set_started_unix_ns(started_unix_ns_);
  reply->set_sessions(static_cast<uint32_t>(table_.All().size()));
  reply->add_supported_python(kSupportedPython);
  reply->set_trap_cost_ns(table_.environment().calibration->costs().emulated_ns);
  reply->set_state_dir(table_.environment().state_dir);
  const Machine machine = ThisMachine();
  reply->set_host(Utf8(machine.host));
  reply->set_kernel(Utf8(machine.kernel));
  reply->set_cpu(Utf8(machine.cpu));
  reply->set_processors(machine.processors);
  reply->set_governor(Utf8(machine.governor));
  return FinishAtOnce(context, absl::OkStatus());
}

}  // namespace sbump
