// The processes of a session, as an experiment sees them.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "daemon/base/processor_time.h"
#include "daemon/estimate/window_work.h"
#include "daemon/experiment/metric_feed.h"
#include "daemon/experiment/specimen.h"
#include "daemon/session/session.h"

namespace sbump {

// The targets of an experiment as a session has them, and what each of its patterns is for.
struct ExperimentTargets {
  TargetRules rules;  // with an arm: all delays 0
  // By the patterns' places in Snapshot::patterns: Python's, then native ones, then modules.
  std::vector<uint32_t> group_of;
  std::optional<size_t> metric;  // whose calls are the units of work; none: the client samples them
  double quantile = 0;           // of such samples; 0: they are a running total
};

class SessionSpecimen : public Specimen {
 public:
  // `bare`: the metric alone, for arms without probes.
  SessionSpecimen(std::shared_ptr<Session> session, ExperimentTargets all, ExperimentTargets bare);

  // What the client samples; for any other metric nobody fills it.
  MetricFeed& feed() { return feed_; }

  // Ends what the experiment waits for; the first reason counts. From any thread.
  void Interrupt(absl::Status why);

  uint64_t NowNs() const override;
  absl::Status Switch(const Arm& arm) override;
  absl::StatusOr<Mark> TakeMark() override;
  absl::Status WaitUntil(uint64_t at_ns) override;
  absl::StatusOr<std::vector<GroupTargets>> FindTargets() override;
  absl::Status AddWork(Window& window) override;
  std::optional<LatencyBucket> LastBucket() const override { return last_bucket_; }
  uint64_t ShortestWindowNs() const override;
  ProcessorTime MachineTime() const override { return ReadProcessorTime(); }

 private:
  const ExperimentTargets& in_force() const { return is_bare_ ? bare_ : all_; }
  absl::Status Interrupted() const;
  absl::Status ChangeInAll(const RulesChange& change);
  absl::StatusOr<std::shared_ptr<const SessionSnapshot>> Look();
  void TakeLatency(const WindowLatency& latency, Window& window);
  ProcessMark MarkOf(const Snapshot& process) const;

  const std::shared_ptr<Session> session_;
  const ExperimentTargets all_, bare_;
  // The experiment's thread only.
  bool is_bare_ = false;
  std::optional<LatencyBucket> last_bucket_;
  MetricFeed feed_;

  mutable std::mutex mutex_;
  std::condition_variable interrupted_;
  absl::Status why_;  // guarded by mutex_; OK: not interrupted
};

}  // namespace sbump
