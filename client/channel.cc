#include "client/channel.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <mutex>
#include <set>
#include <utility>

#include "client/bounded_file.h"
#include "client/update_merger.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "proto/sbump/v1/control.grpc.pb.h"
#include "proto/sbump/v1/experiments.grpc.pb.h"
#include "proto/sbump/v1/modules.grpc.pb.h"

namespace sbump {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

constexpr seconds kConnectTimeout{5};
constexpr seconds kAnswerTimeout{30};
constexpr seconds kDetachTimeout{60};  // waits for the proof, of all sessions perhaps
// A daemon's machine that says nothing for so long is asked, and is gone when it does not answer.
constexpr std::chrono::milliseconds kKeepaliveTime{10'000};
constexpr std::chrono::milliseconds kKeepaliveTimeout{20'000};
constexpr int kMaxMessageBytes = 64 * 1024 * 1024;
constexpr size_t kMaxPemBytes = 4 << 20;

absl::StatusOr<std::string> ReadPem(std::string_view flag, const std::string& path) {
  if (path.empty()) {
    return absl::InvalidArgumentError(StrCat(
        flag,
        " is missing: a daemon over TCP is spoken to with --tls-ca, --tls-cert and --tls-key"));
  }
  absl::StatusOr<std::string> text = ReadBoundedFile(path, kMaxPemBytes);
  if (!text.ok()) return absl::InvalidArgumentError(StrCat(flag, ": ", text.status().message()));
  return text;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsFor(const Endpoint& endpoint,
                                                                         const TlsPaths& tls) {
  if (endpoint.IsUnix()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  SB_ASSIGN_OR_RETURN(options.pem_root_certs, ReadPem("--tls-ca", tls.ca));
  SB_ASSIGN_OR_RETURN(options.pem_cert_chain, ReadPem("--tls-cert", tls.cert));
  SB_ASSIGN_OR_RETURN(options.pem_private_key, ReadPem("--tls-key", tls.key));
  return grpc::SslCredentials(options);
}

// False after five seconds, or as soon as a try has failed.
bool WaitUntilReady(grpc::Channel& channel) {
  const auto deadline = system_clock::now() + kConnectTimeout;
  while (true) {
    const grpc_connectivity_state state = channel.GetState(true);
    if (state == GRPC_CHANNEL_READY) return true;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || !channel.WaitForStateChange(state, deadline))
      return false;
  }
}

// A call that fails at once tells why.
absl::Status NotReady(const std::shared_ptr<grpc::Channel>& channel, const Endpoint& endpoint) {
  if (channel->GetState(false) != GRPC_CHANNEL_TRANSIENT_FAILURE) {
    return absl::UnavailableError(StrCat("sbumpd at ", endpoint.ToString(), ": no answer within ",
                                         kConnectTimeout.count(),
                                         " s: the daemon is stopped, or this is not its socket"));
  }
  grpc::ClientContext context;
  context.set_deadline(system_clock::now() + kConnectTimeout);
  v1::GetInfoReply reply;
  const grpc::Status why = v1::Control::NewStub(channel)->GetInfo(&context, {}, &reply);
  return absl::UnavailableError(
      StrCat("sbumpd at ", endpoint.ToString(), ": ", why.error_message()));
}

// A client learns only at its first call that its certificate was not accepted (TLS 1.3).
constexpr std::string_view kTlsHint =
    "; does it accept this certificate (--tls-cert)? its log says why not";

// The daemon, in messages.
struct Peer {
  std::string name;
  std::string_view hint;  // where it refuses the first call
};

absl::Status FromGrpc(const grpc::Status& status, const Peer& peer, bool has_answered = false) {
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
    return absl::UnavailableError(StrCat("the connection to sbumpd at ", peer.name, " broke (",
                                         status.error_message(), ")",
                                         has_answered ? "" : peer.hint));
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

template <typename Message>
class GrpcStream : public MessageStream<Message> {
 public:
  using Reader = std::unique_ptr<grpc::ClientReader<Message>>;
  GrpcStream(ActiveCalls* calls, const Peer& peer) : call_(calls), peer_(peer) {}

  grpc::ClientContext* context() { return call_.context(); }
  void SetReader(Reader reader) { reader_ = std::move(reader); }
  bool Read(Message* message) override {
    const bool read = reader_->Read(message);
    has_answered_ |= read;
    return read;
  }
  absl::Status Finish() override { return FromGrpc(reader_->Finish(), peer_, has_answered_); }

 private:
  Call call_;  // before the reader, which uses its context
  Reader reader_;
  bool has_answered_ = false;
  const Peer& peer_;
};

class GrpcExperimentStream : public ExperimentStream {
 public:
  GrpcExperimentStream(ActiveCalls* calls, const Peer& peer, v1::Experiments::Stub& stub)
      : call_(calls), peer_(peer), stream_(stub.Run(call_.context())) {}

  bool Read(v1::RunReply* reply) override {
    const bool read = stream_->Read(reply);
    has_answered_ |= read;
    return read;
  }
  bool Write(const v1::RunRequest& request) override { return stream_->Write(request); }
  absl::Status Finish() override {
    stream_->WritesDone();
    return FromGrpc(stream_->Finish(), peer_, has_answered_);
  }

 private:
  Call call_;  // before the stream, which uses its context
  const Peer& peer_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::RunRequest, v1::RunReply>> stream_;
  bool has_answered_ = false;
};

class GrpcControlClient : public ControlClient {
 public:
  GrpcControlClient(const std::shared_ptr<grpc::Channel>& channel, const Endpoint& endpoint)
      : peer_{endpoint.ToString(), endpoint.IsUnix() ? "" : kTlsHint},
        stub_(v1::Control::NewStub(channel)),
        modules_stub_(v1::Modules::NewStub(channel)),
        experiments_stub_(v1::Experiments::NewStub(channel)) {}

  std::unique_ptr<UpdateStream> Attach(const v1::AttachRequest& request) override {
    return Stream<v1::SessionUpdate>(*stub_, &v1::Control::Stub::Attach, request);
  }

  std::unique_ptr<UpdateStream> Watch(const v1::WatchRequest& request) override {
    return Stream<v1::SessionUpdate>(*stub_, &v1::Control::Stub::Watch, request);
  }

  std::unique_ptr<SpanReader> WatchSpans(const v1::WatchSpansRequest& request) override {
    return Stream<v1::SpanBatch>(*modules_stub_, &v1::Modules::Stub::WatchSpans, request);
  }

  std::unique_ptr<ModulesStream> WatchModules(const v1::WatchModulesRequest& request) override {
    return Stream<v1::ModulesUpdate>(*modules_stub_, &v1::Modules::Stub::WatchModules, request);
  }

  std::unique_ptr<ExperimentStream> RunExperiment() override {
    return std::make_unique<GrpcExperimentStream>(&calls_, peer_, *experiments_stub_);
  }

  absl::StatusOr<v1::MatchReply> Match(const v1::MatchRequest& request) override {
    Call call(&calls_);
    return Merged<v1::MatchReply>(*stub_->Match(call.context(), request));
  }
  absl::StatusOr<v1::ListModulesReply> ListModules(const v1::ListModulesRequest& request) override {
    Call call(&calls_);
    return Merged<v1::ListModulesReply>(*modules_stub_->ListModules(call.context(), request));
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
  template <typename Message, typename Stub, typename Request>
  std::unique_ptr<MessageStream<Message>> Stream(
      Stub& stub,
      std::unique_ptr<grpc::ClientReader<Message>> (Stub::*method)(grpc::ClientContext*,
                                                                   const Request&),
      const Request& request) {
    auto stream = std::make_unique<GrpcStream<Message>>(&calls_, peer_);
    stream->SetReader((stub.*method)(stream->context(), request));
    return stream;
  }

  // All pieces of an answer as one.
  template <typename Reply>
  absl::StatusOr<Reply> Merged(grpc::ClientReader<Reply>& reader) {
    Reply piece, reply;
    bool complete = false;
    while (reader.Read(&piece)) {
      complete = !piece.more();
      reply.MergeFrom(piece);
    }
    SB_RETURN_IF_ERROR(FromGrpc(reader.Finish(), peer_));
    if (!complete) return absl::DataLossError("the daemon's answer ended before its last piece");
    reply.set_more(false);
    return reply;
  }

  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Unary(grpc::Status (v1::Control::Stub::*method)(grpc::ClientContext*,
                                                                        const Request&, Reply*),
                              const Request& request, seconds timeout) {
    Call call(&calls_);
    call.SetTimeout(timeout);
    Reply reply;
    SB_RETURN_IF_ERROR(FromGrpc((stub_.get()->*method)(call.context(), request, &reply), peer_));
    return reply;
  }

  const Peer peer_;
  ActiveCalls calls_;
  std::unique_ptr<v1::Control::Stub> stub_;
  std::unique_ptr<v1::Modules::Stub> modules_stub_;
  std::unique_ptr<v1::Experiments::Stub> experiments_stub_;
};

// TCP alone says nothing of a network or a machine that went away.
void NoticeDeadPeer(grpc::ChannelArguments& arguments) {
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(kKeepaliveTime.count()));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(kKeepaliveTimeout.count()));
  // A client that watches has nothing else to send.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ControlClient>> ControlClient::Connect(const Endpoint& endpoint,
                                                                      const TlsPaths& tls) {
  SB_ASSIGN_OR_RETURN(const auto credentials, CredentialsFor(endpoint, tls));
  SB_RETURN_IF_ERROR(ProbeEndpoint(endpoint));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  // One try, whose failure is told, instead of a new one each second.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  if (!endpoint.IsUnix()) NoticeDeadPeer(arguments);
  const std::string target =
      endpoint.IsUnix() ? endpoint.ToString() : StrCat("dns:///", endpoint.HostPort());
  const auto channel = grpc::CreateCustomChannel(target, credentials, arguments);
  if (!WaitUntilReady(*channel)) return NotReady(channel, endpoint);
  return std::make_unique<GrpcControlClient>(channel, endpoint);
}

}  // namespace sbump
