// The daemon, seen from a client: each call of the contract as one blocking function. The only room
// that includes gRPC, and it keeps that to its .cc.
//
// A failed call's status has gRPC's code and the daemon's words. All functions may be called from
// any thread.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/context_file.h"
#include "client/endpoint.h"
#include "proto/sbump/v1/control.pb.h"
#include "proto/sbump/v1/experiments.pb.h"
#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

// What the daemon tells, message by message.
template <typename Message>
class MessageStream {
 public:
  virtual ~MessageStream() = default;
  // Blocks until the next message. False: the stream is over, see Finish().
  virtual bool Read(Message* message) = 0;
  // How it ended; once, after Read() was false.
  virtual absl::Status Finish() = 0;
};

// A session's updates as they arrive, in pieces where the daemon cut them (update_merger.h).
using UpdateStream = MessageStream<v1::SessionUpdate>;
// Spans as they come, in batches.
using SpanReader = MessageStream<v1::SpanBatch>;
// How a process's modules change, in pieces.
using ModulesStream = MessageStream<v1::ModulesUpdate>;

// An experiment: messages both ways. Read() and Write() may be called at the same time.
class ExperimentStream : public MessageStream<v1::RunReply> {
 public:
  // On one thread at a time. False: the stream is over.
  virtual bool Write(const v1::RunRequest& request) = 0;
};

class ControlClient {
 public:
  // kUnavailable or kPermissionDenied with what to do (endpoint.h); kUnavailable after five seconds
  // without an answer. A TCP endpoint is spoken to with TLS and needs all of `tls`.
  static absl::StatusOr<std::unique_ptr<ControlClient>> Connect(const Endpoint& endpoint,
                                                                const TlsPaths& tls);

  virtual ~ControlClient() = default;

  // The streams must not outlive the client.
  virtual std::unique_ptr<UpdateStream> Attach(const v1::AttachRequest& request) = 0;
  virtual std::unique_ptr<UpdateStream> Watch(const v1::WatchRequest& request) = 0;
  virtual std::unique_ptr<SpanReader> WatchSpans(const v1::WatchSpansRequest& request) = 0;
  virtual std::unique_ptr<ModulesStream> WatchModules(const v1::WatchModulesRequest& request) = 0;
  virtual std::unique_ptr<ExperimentStream> RunExperiment() = 0;

  // All pieces merged into one reply.
  virtual absl::StatusOr<v1::MatchReply> Match(const v1::MatchRequest& request) = 0;
  virtual absl::StatusOr<v1::ListModulesReply> ListModules(
      const v1::ListModulesRequest& request) = 0;
  virtual absl::StatusOr<v1::UpdateReply> Update(const v1::UpdateRequest& request) = 0;
  virtual absl::StatusOr<v1::DetachReply> Detach(const v1::DetachRequest& request) = 0;
  virtual absl::StatusOr<v1::ListSessionsReply> ListSessions() = 0;
  virtual absl::StatusOr<v1::InspectReply> Inspect(const v1::InspectRequest& request) = 0;
  virtual absl::StatusOr<v1::GetInfoReply> GetInfo() = 0;

  // Ends every call that is under way, and every later one, with kCancelled.
  virtual void CancelAll() = 0;
};

}  // namespace sbump
