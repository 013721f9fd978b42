// One client's stream of session updates. It holds at most one snapshot that is not sent yet, the
// latest: a client that reads slowly misses snapshots, never the last one.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "daemon/rpc/control_thread.h"
#include "daemon/rpc/to_proto.h"

namespace sbump {

class UpdateStream : public grpc::ServerWriteReactor<v1::SessionUpdate>,
                     public std::enable_shared_from_this<UpdateStream> {
 public:
  // Lives until gRPC is done with it.
  static std::shared_ptr<UpdateStream> Make(ControlThread& control);

  // From any thread. `on_cancel` is called on the control thread when the client goes before the
  // end.
  void PostCancelHandler(std::function<void()> on_cancel);
  void PostSnapshot(std::shared_ptr<const SessionSnapshot> snapshot);
  // Ends the stream with `status` once everything is sent. The first one counts.
  void PostEnd(absl::Status status);

  // gRPC's threads.
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  explicit UpdateStream(ControlThread& control) : control_(control) {}
  void Pump();

  std::shared_ptr<const SessionSnapshot> TakeLatest();

  ControlThread& control_;
  std::shared_ptr<UpdateStream> self_;

  std::mutex mutex_;
  std::shared_ptr<const SessionSnapshot> latest_;  // guarded by mutex_; not sent yet

  // Control thread only.
  std::function<void()> on_cancel_;
  SeenRows seen_;
  std::deque<v1::SessionUpdate> pieces_;
  std::unique_ptr<absl::Status> end_;
  bool writing_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
};

}  // namespace sbump
