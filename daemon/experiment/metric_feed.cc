#include "daemon/experiment/metric_feed.h"

#include <algorithm>
#include <chrono>

#include "daemon/base/str_cat.h"

namespace sbump {

void ClockOffset::Add(uint64_t asked_ns, uint64_t theirs_ns, uint64_t answered_ns) {
  if (answered_ns < asked_ns || !IsBetter(answered_ns - asked_ns, answered_ns)) return;
  best_trip_ns_ = answered_ns - asked_ns;
  learnt_ns_ = answered_ns;
  ahead_ns_ = static_cast<int64_t>(theirs_ns - (asked_ns + best_trip_ns_ / 2));
}

bool ClockOffset::IsBetter(uint64_t trip_ns, uint64_t now_ns) const {
  if (!is_known()) return true;
  // Quartz is off by up to 50 parts in a million, each of the two.
  constexpr uint64_t kDriftsByOneIn = 10'000;
  return trip_ns / 2 < error_ns() + (now_ns - std::min(now_ns, learnt_ns_)) / kDriftsByOneIn;
}

uint64_t ClockOffset::ToOurs(uint64_t theirs_ns) const {
  return theirs_ns - static_cast<uint64_t>(ahead_ns_);
}

void MetricFeed::Add(const std::vector<MetricSample>& samples) {
  for (const MetricSample& sample : samples) {
    if (sample.buckets.size() > kMostBucketsOfOne)
      return Fail(StrCat("a histogram of ", sample.buckets.size(), " buckets, of at most ",
                         kMostBucketsOfOne),
                  sample.at_ns);
  }
  std::lock_guard lock(mutex_);
  for (const MetricSample& sample : samples) {
    if (!samples_.empty() && sample.at_ns <= samples_.back().at_ns) continue;
    samples_.push_back(sample);
    buckets_ += sample.buckets.size();
    failures_ = 0;
    has_read_ = true;
  }
  while (samples_.size() > kMostSamples || buckets_ > kMostBuckets) DropOldest();
  changed_.notify_all();
}

void MetricFeed::DropOldest() {
  buckets_ -= samples_.front().buckets.size();
  samples_.pop_front();
}

void MetricFeed::Fail(const std::string& why, uint64_t at_ns) {
  std::lock_guard lock(mutex_);
  if (failures_++ == 0) failing_since_ns_ = at_ns;
  const uint64_t longest_ns = has_read_ ? kLongestFailingNs : kLongestWithoutNs;
  const bool is_long = at_ns - std::min(at_ns, failing_since_ns_) >= longest_ns;
  why_failed_ = why;
  if (failures_ >= kFewestFailures && is_long && closed_.ok()) {
    closed_ = absl::FailedPreconditionError(StrCat("the metric could not be read for ",
                                                   longest_ns / 1'000'000'000, " s, ", failures_,
                                                   " times in a row: ", why));
  }
  changed_.notify_all();
}

void MetricFeed::Close(absl::Status why) {
  std::lock_guard lock(mutex_);
  if (closed_.ok()) closed_ = std::move(why);
  changed_.notify_all();
}

absl::StatusOr<std::vector<MetricSample>> MetricFeed::Await(uint64_t begin_ns, uint64_t end_ns,
                                                            uint64_t give_up_ns) {
  const std::chrono::steady_clock::time_point give_up{std::chrono::nanoseconds(give_up_ns)};
  std::unique_lock lock(mutex_);
  const auto is_there = [&] { return !samples_.empty() && samples_.back().at_ns >= end_ns; };
  changed_.wait_until(lock, give_up, [&] { return is_there() || !closed_.ok(); });
  if (!closed_.ok()) return closed_;
  if (!is_there()) {
    return absl::FailedPreconditionError(
        failures_ == 0 ? "the client has sent no sample of the metric for too long"
                       : StrCat("the metric could not be read, ", failures_,
                                failures_ == 1 ? " time: " : " times in a row: ", why_failed_));
  }
  while (samples_.front().at_ns < begin_ns) DropOldest();
  return std::vector<MetricSample>(samples_.begin(), samples_.end());
}

std::optional<uint64_t> MetricFeed::interval_ns() const {
  constexpr size_t kMostGaps = 20;
  std::lock_guard lock(mutex_);
  if (samples_.size() < 3) return std::nullopt;  // one gap may be the one after a slow read
  std::vector<uint64_t> gaps_ns;
  for (auto next = samples_.end() - 1; next != samples_.begin() && gaps_ns.size() < kMostGaps;
       --next) {
    gaps_ns.push_back(next->at_ns - (next - 1)->at_ns);
  }
  const auto middle = gaps_ns.begin() + static_cast<ptrdiff_t>((gaps_ns.size() - 1) / 2);
  std::ranges::nth_element(gaps_ns, middle);
  return *middle;
}

}  // namespace sbump
