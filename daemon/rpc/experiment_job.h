// One experiment of one client: its call, its session, and the thread that runs it.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "daemon/experiment/experiment.h"
#include "daemon/experiment/session_specimen.h"
#include "daemon/gate/gate.h"
#include "daemon/rpc/experiment_call.h"
#include "daemon/rpc/to_experiment.h"
#include "daemon/rpc/to_proto.h"
#include "daemon/session/session_table.h"

namespace sbump {

class ExperimentJob : public ExperimentListener,
                      public std::enable_shared_from_this<ExperimentJob> {
 public:
  ExperimentJob(SessionTable& table, Gate& gate, ControlThread& control, Caller caller,
                std::shared_ptr<ExperimentCall> call);
  ~ExperimentJob() override;

  // On the control thread.
  void Take(v1::RunRequest request);
  void ClientGone();
  bool is_over() const { return is_over_; }

  void OnProgress(const ExperimentProgress& progress) override;
  void OnWindow(ExperimentPhase phase, const Window& window) override;
  absl::StatusOr<bool> OnPlan(const ExperimentPlan& plan) override;
  void OnAnswer(const ExperimentAnswer& answer) override;

 private:
  // From any thread.
  void Interrupt(const absl::Status& why);
  absl::Status Interrupted() const;
  // On the control thread.
  absl::Status Begin(const v1::Experiment& request);
  void Approve(bool go);
  void TakeSamples(const v1::MetricSamples& message);
  void TakeClock(const v1::ClockAnswer& answer);
  void AskForClock();
  void OnActive();
  void RunEnded(const absl::Status& status);
  void SessionEnded(const absl::Status& status);
  void End(const absl::Status& status);

  // On the experiment's thread.
  absl::Status RunOn(Specimen& specimen);

  // On the session's thread.
  void OnSnapshot(const std::shared_ptr<const SessionSnapshot>& snapshot);
  void Tell(const SessionSnapshot& snapshot);

  SessionTable& table_;
  Gate& gate_;
  ControlThread& control_;
  const Caller caller_;
  const std::shared_ptr<ExperimentCall> call_;

  // Control thread only.
  std::optional<ExperimentRequest> request_;
  std::shared_ptr<Session> session_;
  std::thread thread_;
  std::optional<absl::Status> run_status_;
  bool is_over_ = false;
  ClockOffset clock_;
  uint64_t question_ = 0;  // the last one
  uint64_t asked_ns_ = 0;  // 0: it was answered

  // The session's thread only.
  SeenRows seen_;
  bool was_active_ = false;
  std::string end_reason_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<SessionSpecimen> specimen_;  // guarded by mutex_; once it is active
  std::optional<bool> approval_;               // guarded by mutex_
  absl::Status interrupted_;                   // guarded by mutex_; OK: not
};

}  // namespace sbump
