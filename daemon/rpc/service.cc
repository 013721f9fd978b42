#include "daemon/rpc/service.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/version.h"
#include "daemon/rpc/grpc_status.h"
#include "daemon/rpc/to_proto.h"
#include "daemon/rpc/update_stream.h"

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

absl::Status NoSuchSession(const std::string& id) {
  return absl::NotFoundError(StrCat("no session ", id, " (sbumpctl list shows those there are)"));
}

// Sends pieces that are all there from the start.
class MatchStream : public grpc::ServerWriteReactor<v1::MatchReply> {
 public:
  // Once, from any thread.
  void Send(absl::StatusOr<std::vector<v1::MatchReply>> pieces) {
    if (!pieces.ok()) return Finish(ToGrpc(pieces.status()));
    pieces_ = *std::move(pieces);
    Next();
  }
  void OnWriteDone(bool ok) override { ok ? Next() : Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  void Next() {
    if (sent_ == pieces_.size()) return Finish(grpc::Status::OK);
    StartWrite(&pieces_[sent_++]);
  }
  std::vector<v1::MatchReply> pieces_;
  size_t sent_ = 0;
};

absl::StatusOr<std::vector<v1::MatchReply>> Match(const v1::MatchRequest& request,
                                                  const SessionEnvironment& environment) {
  TargetRules rules;
  SB_ASSIGN_OR_RETURN(rules.targets, ToTargets(request.selection()));
  const uint64_t max_stop_ns =
      request.max_stop_ns() == 0 ? kDefaultMaxStopNs : request.max_stop_ns();
  if (max_stop_ns > kLargestMaxStopNs)
    return absl::InvalidArgumentError("max_stop_ns is above 10 s");
  SB_ASSIGN_OR_RETURN(MatchResult result, RunMatch(request.pid(), rules, max_stop_ns, environment));
  return ToMatchReplies(result);
}

// Waits (on a worker) until the session is gone from the table, then reports its proof.
absl::Status AwaitDetached(const SessionTable& table, const std::shared_ptr<Session>& session,
                           v1::DetachReply& reply) {
  const auto deadline = std::chrono::steady_clock::now() + kLongestDetach;
  while (table.Find(session->id()) != nullptr) {
    if (std::chrono::steady_clock::now() > deadline) {
      return absl::DeadlineExceededError(StrCat("session ", session->id(), " of pid ",
                                                session->spec().pid,
                                                " is still detaching after 30 s"));
    }
    std::this_thread::sleep_for(kDetachPoll);
  }
  v1::DetachReply::Detached& detached = *reply.add_sessions();
  detached.set_session_id(session->id());
  detached.set_pid(session->spec().pid);
  const std::shared_ptr<const Snapshot> last = session->latest();
  if (last != nullptr && last->end != nullptr)
    ToProto(last->end->proof, *detached.mutable_detach_proof());
  return absl::OkStatus();
}

void Summarise(const Session& session, v1::SessionSummary& summary) {
  summary.set_session_id(session.id());
  summary.set_client_name(session.spec().client_name);
  summary.set_started_unix_ns(session.started_unix_ns());
  summary.set_expires_unix_ns(session.started_unix_ns() + session.spec().ttl_ns);
  summary.mutable_process()->set_pid(session.spec().pid);
  const std::shared_ptr<const Snapshot> latest = session.latest();
  if (latest == nullptr) return;
  summary.set_state(ToProto(latest->state));
  ToProto(latest->process, *summary.mutable_process());
  summary.set_delay_ns(latest->delay_ns);
  summary.set_targets(latest->rows.size());
  uint64_t calls = 0, injected_ns = 0;
  for (const RowCounters& row : latest->counters) {
    calls += row.calls;
    injected_ns += row.injected_delay_ns;
  }
  summary.set_calls(calls);
  summary.set_injected_delay_ns(injected_ns);
  for (const PatternCounters& pattern : latest->patterns) summary.add_patterns(pattern.pattern);
}

}  // namespace

ControlService::ControlService(SessionTable& table, ControlThread& control)
    : table_(table), control_(control), started_unix_ns_(UnixNs()) {}

grpc::ServerWriteReactor<v1::SessionUpdate>* ControlService::Attach(
    grpc::CallbackServerContext*, const v1::AttachRequest* request) {
  const std::shared_ptr<UpdateStream> stream = UpdateStream::Make(control_);
  absl::StatusOr<AttachSpec> spec = ToSpec(*request);
  if (!spec.ok()) {
    stream->PostEnd(spec.status());
    return stream.get();
  }
  const bool keep = spec->keep;
  control_.Post([this, stream, keep, spec = *std::move(spec)] {
    const std::weak_ptr<UpdateStream> weak = stream;
    absl::StatusOr<std::shared_ptr<Session>> session = table_.Begin(
        spec,
        [weak](std::shared_ptr<const Snapshot> snapshot) {
          // A failed attach ends the stream with its status.
          if (snapshot->end != nullptr && snapshot->end->failed) return;
          if (const auto to = weak.lock()) to->PostSnapshot(std::move(snapshot));
        },
        [weak](absl::Status status) {
          if (const auto to = weak.lock()) to->PostEnd(std::move(status));
        });
    if (!session.ok()) return stream->PostEnd(session.status());
    if (keep) return;
    stream->PostCancelHandler([this, id = (*session)->id()] {
      if (const auto found = table_.Find(id)) found->Stop("client gone");
    });
  });
  return stream.get();
}

grpc::ServerWriteReactor<v1::MatchReply>* ControlService::Match(grpc::CallbackServerContext*,
                                                                const v1::MatchRequest* request) {
  auto* stream = new MatchStream;
  control_.PostWork([this, stream, request = *request] {
    stream->Send(sbump::Match(request, table_.environment()));
  });
  return stream;
}

grpc::ServerUnaryReactor* ControlService::Update(grpc::CallbackServerContext* context,
                                                 const v1::UpdateRequest* request,
                                                 v1::UpdateReply* reply) {
  absl::StatusOr<RulesChange> change = ToChange(*request);
  if (!change.ok()) return FinishAtOnce(context, change.status());
  const std::shared_ptr<Session> session = table_.Find(request->session_id());
  if (session == nullptr) return FinishAtOnce(context, NoSuchSession(request->session_id()));
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  session->ChangeRules(*std::move(change), [reactor, reply](absl::StatusOr<RulesInForce> now) {
    if (now.ok()) {
      reply->set_targets(now->rows);
      for (std::string& warning : now->warnings) reply->add_warnings(std::move(warning));
    }
    reactor->Finish(ToGrpc(now.status()));
  });
  return reactor;
}

std::vector<std::shared_ptr<Session>> ControlService::Selected(
    const v1::DetachRequest& request) const {
  if (request.all()) return table_.All();
  const std::shared_ptr<Session> one =
      request.has_pid() ? table_.FindByPid(request.pid()) : table_.Find(request.session_id());
  if (one == nullptr) return {};
  return {one};
}

grpc::ServerUnaryReactor* ControlService::Detach(grpc::CallbackServerContext* context,
                                                 const v1::DetachRequest* request,
                                                 v1::DetachReply* reply) {
  const std::vector<std::shared_ptr<Session>> sessions = Selected(*request);
  if (sessions.empty() && !request->all()) {
    return FinishAtOnce(context, request->has_pid() ? absl::NotFoundError(StrCat(
                                                          "no session on pid ", request->pid()))
                                                    : NoSuchSession(request->session_id()));
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  control_.PostWork([this, sessions, reply, reactor] {
    for (const auto& session : sessions) session->Stop("detached");
    absl::Status status;
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
  for (const std::shared_ptr<Session>& session : table_.All())
    Summarise(*session, *reply->add_sessions());
  return FinishAtOnce(context, absl::OkStatus());
}

grpc::ServerWriteReactor<v1::SessionUpdate>* ControlService::Watch(
    grpc::CallbackServerContext*, const v1::WatchRequest* request) {
  const std::shared_ptr<UpdateStream> stream = UpdateStream::Make(control_);
  const std::shared_ptr<Session> session = table_.Find(request->session_id());
  if (session == nullptr) {
    stream->PostEnd(NoSuchSession(request->session_id()));
    return stream.get();
  }
  const std::weak_ptr<UpdateStream> weak = stream;
  const int sink = session->AddSink([weak](const std::shared_ptr<const Snapshot>& snapshot) {
    const auto to = weak.lock();
    if (to == nullptr) return;
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
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  control_.PostWork([this, pid = request->pid(), reply, reactor] {
    ToProto(Diagnose(pid, table_.environment()), *reply);
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerUnaryReactor* ControlService::GetInfo(grpc::CallbackServerContext* context,
                                                  const v1::GetInfoRequest*,
                                                  v1::GetInfoReply* reply) {
  reply->set_version(kVersion);
  reply->set_pid(getpid());
  reply->set_started_unix_ns(started_unix_ns_);
  reply->set_sessions(static_cast<uint32_t>(table_.All().size()));
  reply->add_supported_python(kSupportedPython);
  reply->set_trap_cost_ns(table_.environment().trap_cost_ns);
  reply->set_state_dir(table_.environment().state_dir);
  return FinishAtOnce(context, absl::OkStatus());
}

}  // namespace sbump
