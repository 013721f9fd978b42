// An experiment's metric of work, sent into its call where the client reads it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/channel.h"
#include "client/metric/metric_sampler.h"
#include "daemon/base/clock.h"
#include "proto/sbump/v1/experiments.pb.h"

namespace sbump {

// What a client says in the call, from any thread: the one that reads answers, one that hears of
// Ctrl-C, one that samples a metric.
class ExperimentRequests {
 public:
  explicit ExperimentRequests(ExperimentStream* stream) : stream_(stream) {}

  bool Send(const v1::RunRequest& request) {
    std::lock_guard lock(mutex_);
    return stream_->Write(request);
  }
  void Stop() {
    v1::RunRequest request;
    request.mutable_stop();
    Send(request);
  }
  void AnswerClock(const v1::ClockQuestion& question) {
    v1::RunRequest request;
    request.mutable_clock()->set_question(question.question());
    request.mutable_clock()->set_received_ns(MonotonicNs());
    Send(request);
  }
  void Approve(bool go) {
    v1::RunRequest request;
    request.mutable_approval()->set_go(go);
    Send(request);
  }

 private:
  std::mutex mutex_;
  ExperimentStream* stream_;
};

// `--metric TEXT` in an experiment. kInvalidArgument: no metric, or one whose unit cannot be told.
// Also errors of opening one that the client reads (metric_source.h).
absl::Status TakeMetric(const std::string& text, v1::WorkMetric* metric);

// Until the sampler is stopped or destroyed. Null where the daemon counts.
absl::StatusOr<std::unique_ptr<MetricSampler>> StartSampling(const std::string& text,
                                                             ExperimentRequests* requests);

}  // namespace sbump
