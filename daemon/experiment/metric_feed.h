// Samples of a metric that a client reads, on this machine's clock, until somebody needs them.
//
// All methods may be called from any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/estimate/metric_sample.h"

namespace sbump {

// How far another machine's CLOCK_MONOTONIC is ahead of this one's.
class ClockOffset {
 public:
  // A question was asked at `asked_ns` and its answer was here at `answered_ns`, by this clock; in
  // between the other one showed `theirs_ns`. The quickest answer knows best, until it is so old
  // that the clocks may have gone further apart than a new one is off.
  void Add(uint64_t asked_ns, uint64_t theirs_ns, uint64_t answered_ns);
  bool is_known() const { return best_trip_ns_ != UINT64_MAX; }
  // At most so far off when that was learnt.
  uint64_t error_ns() const { return best_trip_ns_ / 2; }
  uint64_t ToOurs(uint64_t theirs_ns) const;

 private:
  bool IsBetter(uint64_t trip_ns, uint64_t now_ns) const;

  uint64_t best_trip_ns_ = UINT64_MAX;
  uint64_t learnt_ns_ = 0;
  int64_t ahead_ns_ = 0;
};

class MetricFeed {
 public:
  static constexpr size_t kMostSamples = 20'000;
  static constexpr size_t kMostBuckets = 500'000;  // of all samples: 8 MB
  static constexpr size_t kMostBucketsOfOne = 1'000;
  static constexpr int kFewestFailures = 3;  // that say something
  // What is restarted comes back; what was never read is a mistake, most likely.
  static constexpr uint64_t kLongestFailingNs = 10'000'000'000, kLongestWithoutNs = 2'000'000'000;

  // In order of time; what is older than the newest is left out. One of more than kMostBucketsOfOne
  // buckets is a read that failed, and none of them counts. The oldest give way where there are too
  // many.
  void Add(const std::vector<MetricSample>& samples);
  // A read that failed, at `at_ns` (CLOCK_MONOTONIC of this machine). After kFewestFailures or more
  // in a row, for kLongestFailingNs, nothing more is waited for; before the first sample, for
  // kLongestWithoutNs.
  void Fail(const std::string& why, uint64_t at_ns);
  // As Fail(), for good.
  void Close(absl::Status why);

  // Those from `begin_ns` on, once there is one after `end_ns`; kFailedPrecondition with the reason
  // where there will be none, or is none at `give_up_ns`.
  absl::StatusOr<std::vector<MetricSample>> Await(uint64_t begin_ns, uint64_t end_ns,
                                                  uint64_t give_up_ns);
  // Between samples, usually: the median of the last ones. One slow read, as the first often
  // is, does not move it. Nothing before there are three.
  std::optional<uint64_t> interval_ns() const;

 private:
  void DropOldest();  // needs mutex_

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<MetricSample> samples_;  // guarded by mutex_
  size_t buckets_ = 0;                // guarded by mutex_: theirs
  bool has_read_ = false;             // guarded by mutex_
  int failures_ = 0;                  // guarded by mutex_; in a row
  uint64_t failing_since_ns_ = 0;     // guarded by mutex_; of the first of them
  std::string why_failed_;            // guarded by mutex_; of the last one
  absl::Status closed_;               // guarded by mutex_
};

}  // namespace sbump
