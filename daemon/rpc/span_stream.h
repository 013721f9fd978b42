// One client's stream of a session's spans.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>

#include "daemon/base/status.h"
#include "daemon/rpc/control_thread.h"
#include "daemon/spans/hub.h"
#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

class SpanStream : public grpc::ServerWriteReactor<v1::SpanBatch>,
                   public std::enable_shared_from_this<SpanStream> {
 public:
  // Lives until gRPC is done with it. It ends at once with an error that is given.
  static std::shared_ptr<SpanStream> Make(ControlThread& control);

  // From any thread, once: reads from the hub until that has no more, or `may_show` says no (which
  // also ends the stream).
  void PostStart(std::shared_ptr<SpanHub> hub, std::function<bool()> may_show);
  // Ends the stream.
  void PostEnd(absl::Status status);

  // gRPC's threads.
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  static constexpr size_t kMostInBatch = 500;

  explicit SpanStream(ControlThread& control) : control_(control) {}
  void PostPump();
  void Pump();
  void Finish(absl::Status status);

  ControlThread& control_;
  std::shared_ptr<SpanStream> self_;
  std::atomic<bool> pump_is_posted_ = false;

  // Control thread only.
  std::shared_ptr<SpanHub> hub_;
  std::function<bool()> may_show_;
  v1::SpanBatch batch_;
  uint64_t lost_ = 0;  // that were told
  absl::Status end_;
  bool writing_ = false;
  bool finished_ = false;
};

}  // namespace sbump
