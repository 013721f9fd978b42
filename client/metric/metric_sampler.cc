#include "client/metric/metric_sampler.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "daemon/base/clock.h"

namespace sbump {
namespace {

constexpr uint64_t kLeastTimesRead = 10;  // an interval is so many reads long

timespec ToTimespec(uint64_t ns) {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

}  // namespace

MetricSampler::MetricSampler(std::unique_ptr<MetricSource> source, uint64_t interval_ns,
                             OnRead on_read)
    : source_(std::move(source)),
      asked_ns_(std::max(interval_ns, kLeastMetricIntervalNs)),
      on_read_(std::move(on_read)),
      interval_ns_(asked_ns_) {
  thread_ = std::thread([this] { Loop(); });
}

void MetricSampler::Stop() {
  stop_.Set();
  source_->Cancel();
  if (thread_.joinable()) thread_.join();
}

bool MetricSampler::WaitUntil(uint64_t at_ns) {
  while (!stop_.is_set()) {
    const uint64_t now_ns = MonotonicNs();
    if (now_ns >= at_ns) return true;
    const timespec left = ToTimespec(at_ns - now_ns);
    pollfd stop{stop_.fd(), POLLIN, 0};
    ppoll(&stop, 1, &left, nullptr);
  }
  return false;
}

void MetricSampler::Learn(uint64_t took_ns) {
  last_reads_ns_[reads_++ % last_reads_ns_.size()] = took_ns;
  auto reads = last_reads_ns_;
  const auto end = reads.begin() + std::min(reads_, reads.size());
  const auto middle = reads.begin() + (end - reads.begin() - 1) / 2;
  std::nth_element(reads.begin(), middle, end);
  usual_read_ns_ = *middle;
  interval_ns_ = std::max(asked_ns_, *middle * kLeastTimesRead);
}

void MetricSampler::Loop() {
  uint64_t next_ns = MonotonicNs();
  while (WaitUntil(next_ns)) {
    absl::StatusOr<MetricSample> read = source_->Read();
    if (stop_.is_set()) return;
    if (read.ok()) Learn(read->took_ns);
    on_read_(std::move(read));
    const uint64_t interval_ns = interval_ns_.load();
    const uint64_t late_ns = MonotonicNs() - next_ns;
    next_ns += (late_ns / interval_ns + 1) * interval_ns;
  }
}

}  // namespace sbump
