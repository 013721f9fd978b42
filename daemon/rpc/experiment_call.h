// One client's call of Experiments.Run: messages both ways, in order.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>

#include "daemon/base/status.h"
#include "daemon/rpc/control_thread.h"
#include "proto/sbump/v1/experiments.pb.h"

namespace sbump {

class ExperimentCall : public grpc::ServerBidiReactor<v1::RunRequest, v1::RunReply>,
                       public std::enable_shared_from_this<ExperimentCall> {
 public:
  // Called on the control thread; a message is read once the one before it has been taken.
  struct Client {
    std::function<void(v1::RunRequest)> on_message;
    std::function<void()> on_gone;  // before the end
  };

  // Lives until gRPC is done with it.
  static std::shared_ptr<ExperimentCall> Make(ControlThread& control);
  // Once.
  void PostStart(Client client);
  // From any thread. A client that leaves more than kMostWaiting replies unread is hung up on.
  void PostReply(v1::RunReply reply);
  // Ends the call once everything is sent. The first status counts.
  void PostEnd(absl::Status status);

  // gRPC's threads.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  static constexpr size_t kMostWaiting = 20'000;

  explicit ExperimentCall(ControlThread& control) : control_(control) {}
  void Pump();
  void Gone();

  ControlThread& control_;
  std::shared_ptr<ExperimentCall> self_;
  v1::RunRequest request_;  // being read

  // Control thread only.
  Client client_;
  std::deque<v1::RunReply> replies_;
  std::unique_ptr<absl::Status> end_;
  bool writing_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
};

}  // namespace sbump
