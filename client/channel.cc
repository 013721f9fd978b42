#include "client/channel.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <mutex>
#include <set>
#include <utility>

#include "client/update_merger.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "proto/sbump/v1/control.grpc.pb.h"

namespace sbump {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

constexpr seconds kConnectTimeout{5};
constexpr seconds kAnswerTimeout{30};
constexpr seconds kDetachTimeout{60};  // waits for the proof, of all sessions perhaps
constexpr int kMaxMessageBytes = 64 * 1024 * 1024;

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(status.error_code());  // the same numbers
  if (code == absl::StatusCode::kUnimplemented && status.error_message().empty()) {
    return absl::InternalError(
        "this daemon does not know the call: sbumpd is older than this sbumpctl; update it");
  }
  if (code == absl::StatusCode::kDeadlineExceeded) {
    return absl::DeadlineExceededError("the daemon did not answer in time; is it stopped?");
  }
  if (code == absl::StatusCode::kUnavailable) {
    return absl::UnavailableError(
        StrCat("the connection to the daemon broke (", status.error_message(), ")"));
  }
  return absl::Status(code, ToAbsl(status.error_message()));
}

// The calls under way, so that another thread can cancel them.
class ActiveCalls {
 public:
  void Add(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex_);
    active_.insert(context);
    if (cancelled_) context->TryCancel();
  }
  void Remove(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex_);
    active_.erase(context);
  }
  void CancelAll() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    for (grpc::ClientContext* context : active_) context->TryCancel();
  }

 private:
  std::mutex mutex_;
  bool cancelled_ = false;
  std::set<grpc::ClientContext*> active_;
};

// One call's context, cancellable as long as it lives.
class Call {
 public:
  explicit Call(ActiveCalls* calls) : calls_(calls) { calls_->Add(&context_); }
  ~Call() { calls_->Remove(&context_); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  grpc::ClientContext* context() { return &context_; }
  void SetTimeout(seconds timeout) { context_.set_deadline(system_clock::now() + timeout); }

 private:
  ActiveCalls* calls_;
  grpc::ClientContext context_;
};

using UpdateReader = std::unique_ptr<grpc::ClientReader<v1::SessionUpdate>>;

class GrpcUpdateStream : public UpdateStream {
 public:
  explicit GrpcUpdateStream(ActiveCalls* calls) : call_(calls) {}

  grpc::ClientContext* context() { return call_.context(); }
  void SetReader(UpdateReader reader) { reader_ = std::move(reader); }
  bool Read(v1::SessionUpdate* update) override { return reader_->Read(update); }
  absl::Status Finish() override { return FromGrpc(reader_->Finish()); }

 private:
  Call call_;  // before the reader, which uses its context
  UpdateReader reader_;
};

class GrpcControlClient : public ControlClient {
 public:
  explicit GrpcControlClient(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::Control::NewStub(channel)) {}

  std::unique_ptr<UpdateStream> Attach(const v1::AttachRequest& request) override {
    auto stream = std::make_unique<GrpcUpdateStream>(&calls_);
    stream->SetReader(stub_->Attach(stream->context(), request));
    return stream;
  }

  std::unique_ptr<UpdateStream> Watch(const v1::WatchRequest& request) override {
    auto stream = std::make_unique<GrpcUpdateStream>(&calls_);
    stream->SetReader(stub_->Watch(stream->context(), request));
    return stream;
  }

  absl::StatusOr<v1::MatchReply> Match(const v1::MatchRequest& request) override {
    Call call(&calls_);
    auto reader = stub_->Match(call.context(), request);
    v1::MatchReply piece, reply;
    bool complete = false;
    while (reader->Read(&piece)) {
      complete = !piece.more();
      reply.MergeFrom(piece);
    }
    SB_RETURN_IF_ERROR(FromGrpc(reader->Finish()));
    if (!complete) return absl::DataLossError("the daemon's answer ended before its last piece");
    reply.set_more(false);
    return reply;
  }

  absl::StatusOr<v1::UpdateReply> Update(const v1::UpdateRequest& request) override {
    return Unary<v1::UpdateReply>(&v1::Control::Stub::Update, request, kAnswerTimeout);
  }
  absl::StatusOr<v1::DetachReply> Detach(const v1::DetachRequest& request) override {
    return Unary<v1::DetachReply>(&v1::Control::Stub::Detach, request, kDetachTimeout);
  }
  absl::StatusOr<v1::ListSessionsReply> ListSessions() override {
    return Unary<v1::ListSessionsReply>(&v1::Control::Stub::ListSessions, v1::ListSessionsRequest(),
                                        kAnswerTimeout);
  }
  absl::StatusOr<v1::InspectReply> Inspect(const v1::InspectRequest& request) override {
    return Unary<v1::InspectReply>(&v1::Control::Stub::Inspect, request, kAnswerTimeout);
  }
  absl::StatusOr<v1::GetInfoReply> GetInfo() override {
    return Unary<v1::GetInfoReply>(&v1::Control::Stub::GetInfo, v1::GetInfoRequest(),
                                   kConnectTimeout);
  }

  void CancelAll() override { calls_.CancelAll(); }

 private:
  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Unary(grpc::Status (v1::Control::Stub::*method)(grpc::ClientContext*,
                                                                        const Request&, Reply*),
                              const Request& request, seconds timeout) {
    Call call(&calls_);
    call.SetTimeout(timeout);
    Reply reply;
    SB_RETURN_IF_ERROR(FromGrpc((stub_.get()->*method)(call.context(), request, &reply)));
    return reply;
  }

  ActiveCalls calls_;
  std::unique_ptr<v1::Control::Stub> stub_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ControlClient>> ControlClient::Connect(const Endpoint& endpoint) {
  SB_RETURN_IF_ERROR(ProbeEndpoint(endpoint));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  const auto channel =
      grpc::CreateCustomChannel(endpoint.ToString(), grpc::InsecureChannelCredentials(), arguments);
  if (!channel->WaitForConnected(system_clock::now() + kConnectTimeout)) {
    return absl::UnavailableError(StrCat("sbumpd at ", endpoint.ToString(), ": no answer within ",
                                         kConnectTimeout.count(),
                                         " s: the daemon is stopped, or this is not its socket"));
  }
  return std::make_unique<GrpcControlClient>(channel);
}

}  // namespace sbump
