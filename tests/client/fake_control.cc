#include "tests/client/fake_control.h"

#include <grpcpp/grpcpp.h>
#include <stdlib.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "proto/sbump/v1/control.grpc.pb.h"
#include "proto/sbump/v1/experiments.grpc.pb.h"
#include "proto/sbump/v1/modules.grpc.pb.h"

namespace sbump::test {
namespace {

using std::chrono::milliseconds;
using Writer = grpc::ServerWriter<v1::SessionUpdate>;

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message().data(), status.message().size()));
}

}  // namespace

class FakeControl::Service : public v1::Control::Service {
 public:
  explicit Service(Script script) : script_(std::move(script)) {}

  Requests requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  grpc::Status Attach(grpc::ServerContext* context, const v1::AttachRequest* request,
                      Writer* writer) override {
    Note(&Requests::attach, *request);
    return Play(script_.attach, context, writer);
  }

  grpc::Status Watch(grpc::ServerContext* context, const v1::WatchRequest* request,
                     Writer* writer) override {
    Note(&Requests::watch, *request);
    return Play(script_.watch, context, writer);
  }

  grpc::Status Match(grpc::ServerContext*, const v1::MatchRequest* request,
                     grpc::ServerWriter<v1::MatchReply>* writer) override {
    Note(&Requests::match, *request);
    for (const v1::MatchReply& piece : script_.match) writer->Write(piece);
    return ToGrpc(script_.status);
  }

  // For the other service.
  grpc::Status ListModules(const v1::ListModulesRequest& request,
                           grpc::ServerWriter<v1::ListModulesReply>* writer) {
    Note(&Requests::modules, request);
    for (const v1::ListModulesReply& piece : script_.modules) writer->Write(piece);
    return ToGrpc(script_.status);
  }

  grpc::Status WatchModules(grpc::ServerContext* context, const v1::WatchModulesRequest& request,
                            grpc::ServerWriter<v1::ModulesUpdate>* writer) {
    Note(&Requests::watch_modules, request);
    for (const v1::ModulesUpdate& piece : script_.modules_updates) writer->Write(piece);
    if (script_.modules_wait_for_cancel) Wait({.wait_for_cancel = true}, context);
    return ToGrpc(script_.status);
  }

  grpc::Status WatchSpans(grpc::ServerWriter<v1::SpanBatch>* writer) {
    for (const v1::SpanBatch& batch : script_.spans) writer->Write(batch);
    return grpc::Status::OK;
  }

  // Likewise: the script of the experiment that `begin` is.
  ExperimentScript NextExperiment(const v1::Experiment& begin) {
    const std::lock_guard lock(mutex_);
    requests_.experiments.push_back(begin);
    const size_t number = requests_.experiments.size();
    if (number > script_.experiments.size())
      return {.status = absl::UnimplementedError("no script for this experiment")};
    return script_.experiments[number - 1];
  }
  void Note(const v1::Approval& approval) {
    const std::lock_guard lock(mutex_);
    requests_.approvals.push_back(approval.go());
  }
  void NoteStop() {
    const std::lock_guard lock(mutex_);
    ++requests_.stops;
  }
  void NoteCancel() {
    const std::lock_guard lock(mutex_);
    ++requests_.cancelled_streams;
  }

  grpc::Status Update(grpc::ServerContext*, const v1::UpdateRequest* request,
                      v1::UpdateReply* reply) override {
    Note(&Requests::update, *request);
    *reply = script_.update;
    return ToGrpc(script_.status);
  }

  grpc::Status Detach(grpc::ServerContext*, const v1::DetachRequest* request,
                      v1::DetachReply* reply) override {
    Note(&Requests::detach, *request);
    detached_.notify_all();
    *reply = script_.detach;
    return ToGrpc(script_.status);
  }

  grpc::Status ListSessions(grpc::ServerContext*, const v1::ListSessionsRequest*,
                            v1::ListSessionsReply* reply) override {
    *reply = script_.list;
    return ToGrpc(script_.status);
  }

  grpc::Status Inspect(grpc::ServerContext*, const v1::InspectRequest* request,
                       v1::InspectReply* reply) override {
    Note(&Requests::inspect, *request);
    *reply = script_.inspect;
    return ToGrpc(script_.status);
  }

  grpc::Status GetInfo(grpc::ServerContext*, const v1::GetInfoRequest*,
                       v1::GetInfoReply* reply) override {
    *reply = script_.info;
    return ToGrpc(script_.status);
  }

 private:
  template <typename Request>
  void Note(std::vector<Request> Requests::*list, const Request& request) {
    const std::lock_guard lock(mutex_);
    (requests_.*list).push_back(request);
  }

  grpc::Status Play(const StreamScript& script, grpc::ServerContext* context, Writer* writer) {
    std::this_thread::sleep_for(script.silence);
    for (const v1::SessionUpdate& update : script.first) {
      writer->Write(update);
      std::this_thread::sleep_for(script.pause);
    }
    if ((script.wait_for_detach || script.wait_for_cancel) && !Wait(script, context)) {
      const std::lock_guard lock(mutex_);
      ++requests_.cancelled_streams;
      return grpc::Status::CANCELLED;
    }
    for (const v1::SessionUpdate& update : script.last) writer->Write(update);
    return ToGrpc(script.status);
  }

  // False when the client cancelled first.
  bool Wait(const StreamScript& script, grpc::ServerContext* context) {
    std::unique_lock lock(mutex_);
    while (!context->IsCancelled()) {
      if (script.wait_for_detach && !requests_.detach.empty()) return true;
      detached_.wait_for(lock, milliseconds(10));
    }
    return false;
  }

  const Script script_;
  mutable std::mutex mutex_;
  std::condition_variable detached_;
  Requests requests_;
};

class FakeControl::ModulesService : public v1::Modules::Service {
 public:
  explicit ModulesService(FakeControl::Service& control) : control_(control) {}

  grpc::Status ListModules(grpc::ServerContext*, const v1::ListModulesRequest* request,
                           grpc::ServerWriter<v1::ListModulesReply>* writer) override {
    return control_.ListModules(*request, writer);
  }
  grpc::Status WatchModules(grpc::ServerContext* context, const v1::WatchModulesRequest* request,
                            grpc::ServerWriter<v1::ModulesUpdate>* writer) override {
    return control_.WatchModules(context, *request, writer);
  }
  grpc::Status WatchSpans(grpc::ServerContext*, const v1::WatchSpansRequest*,
                          grpc::ServerWriter<v1::SpanBatch>* writer) override {
    return control_.WatchSpans(writer);
  }

 private:
  FakeControl::Service& control_;
};

class FakeControl::ExperimentsService : public v1::Experiments::Service {
 public:
  explicit ExperimentsService(FakeControl::Service& control) : control_(control) {}

  using Stream = grpc::ServerReaderWriter<v1::RunReply, v1::RunRequest>;

  grpc::Status Run(grpc::ServerContext*, Stream* stream) override {
    v1::RunRequest begin;
    if (!stream->Read(&begin)) return grpc::Status::CANCELLED;
    const ExperimentScript script = control_.NextExperiment(begin.begin());
    for (const v1::RunReply& reply : script.first) stream->Write(reply);
    if (script.wait_for_approval && !Approved(stream)) return ToGrpc(script.status);
    if ((script.wait_for_stop || script.wait_for_cancel) && !Stopped(script, stream)) {
      control_.NoteCancel();
      return grpc::Status::CANCELLED;
    }
    for (const v1::RunReply& reply : script.last) stream->Write(reply);
    return ToGrpc(script.status);
  }

 private:
  bool Approved(Stream* stream) {
    v1::RunRequest request;
    while (stream->Read(&request)) {
      if (request.has_stop()) control_.NoteStop();
      if (!request.has_approval()) continue;
      control_.Note(request.approval());
      return request.approval().go();
    }
    return false;
  }

  // False when the client cancelled first.
  bool Stopped(const ExperimentScript& script, Stream* stream) {
    v1::RunRequest request;
    while (stream->Read(&request)) {
      if (!request.has_stop()) continue;
      control_.NoteStop();
      if (script.wait_for_stop) return true;
    }
    return false;
  }

  FakeControl::Service& control_;
};

struct FakeControl::Server {
  std::unique_ptr<grpc::Server> grpc;
};

FakeControl::FakeControl(Script script) : FakeControl(std::move(script), "") {}

FakeControl::FakeControl(Script script, const std::string& socket)
    : service_(std::make_unique<Service>(std::move(script))),
      modules_(std::make_unique<ModulesService>(*service_)),
      experiments_(std::make_unique<ExperimentsService>(*service_)),
      server_(std::make_unique<Server>()) {
  if (socket.empty()) directory_ = std::make_unique<SocketDirectory>();
  socket_ = socket.empty() ? directory_->socket() : socket;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(endpoint(), grpc::InsecureServerCredentials());
  builder.RegisterService(service_.get());
  builder.RegisterService(modules_.get());
  builder.RegisterService(experiments_.get());
  server_->grpc = builder.BuildAndStart();
}

FakeControl::~FakeControl() { server_->grpc->Shutdown(std::chrono::system_clock::now()); }

std::string FakeControl::endpoint() const { return "unix:" + socket_; }

Requests FakeControl::requests() const { return service_->requests(); }

}  // namespace sbump::test
