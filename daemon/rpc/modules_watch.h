// One client's stream of how the modules of a process change.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/rpc/blocking_work.h"
#include "daemon/rpc/control_thread.h"
#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

class ModulesWatch : public grpc::ServerWriteReactor<v1::ModulesUpdate>,
                     public std::enable_shared_from_this<ModulesWatch> {
 public:
  using Updates = absl::StatusOr<std::vector<v1::ModulesUpdate>>;
  // What is to be told after a look at the process; an error ends the stream. It may block: see
  // blocking_work.h. One after the other.
  using Look = std::function<Updates()>;

  // Lives until gRPC is done with it. `who`: what is looked at, for errors.
  static std::shared_ptr<ModulesWatch> Make(ControlThread& control, BlockingWork& blocking,
                                            std::string who);

  // From any thread, once: looks until the client goes or it is ended, with `interval` between a
  // look that was told and the next. `look` is destroyed when no more is to be done.
  void PostStart(std::chrono::nanoseconds interval, Look look);
  // From any thread.
  void PostEnd(absl::Status status);

  // gRPC's threads.
  void OnWriteDone(bool ok) override;
  void OnCancel() override { PostEnd(absl::CancelledError("the client has gone")); }
  void OnDone() override;

 private:
  ModulesWatch(ControlThread& control, BlockingWork& blocking, std::string who)
      : control_(control), blocking_(blocking), who_(std::move(who)), pause_(control.io()) {}
  void PostUpdates(Updates updates);
  void LookAgain();
  void TellNext();
  void WaitForNext();
  void End(absl::Status status);
  void FinishOnce();

  ControlThread& control_;
  BlockingWork& blocking_;
  const std::string who_;
  std::shared_ptr<ModulesWatch> self_;

  // Control thread only.
  boost::asio::steady_timer pause_;
  std::chrono::nanoseconds interval_{0};
  Look look_;
  std::vector<v1::ModulesUpdate> updates_;
  size_t told_ = 0;       // of `updates_`
  bool writing_ = false;  // gRPC has one of them
  std::optional<absl::Status> end_;
  bool finished_ = false;
};

}  // namespace sbump
