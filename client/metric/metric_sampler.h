// Reads a source again and again, on a thread of its own.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "client/metric/metric_source.h"
#include "client/metric/stop_signal.h"

namespace sbump {

inline constexpr uint64_t kUsualMetricIntervalNs = 50'000'000;
inline constexpr uint64_t kLeastMetricIntervalNs = 1'000'000;

// Reads take at most a tenth of the time: to be read may cost the service that is measured. Where
// the usual read (the median of the last five that succeeded) takes longer than a tenth of the
// interval, the interval grows to ten times that, and shrinks again with it, never below what was
// asked for. A read that ends late leaves out those that it overlapped.
class MetricSampler {
 public:
  // From the sampler's thread, one at a time. Must not call Stop().
  using OnRead = std::function<void(absl::StatusOr<MetricSample> read)>;

  // Begins at once. `interval_ns` below kLeastMetricIntervalNs counts as that.
  MetricSampler(std::unique_ptr<MetricSource> source, uint64_t interval_ns, OnRead on_read);
  ~MetricSampler() { Stop(); }
  MetricSampler(const MetricSampler&) = delete;
  MetricSampler& operator=(const MetricSampler&) = delete;

  // A read under way is cut short; none is reported afterwards. Once or more often.
  void Stop();

  // As it is now. Any thread.
  uint64_t interval_ns() const { return interval_ns_.load(); }
  // Of the usual read; 0 before the first one. Any thread.
  uint64_t usual_read_ns() const { return usual_read_ns_.load(); }

 private:
  void Loop();
  // False: it is time to stop.
  bool WaitUntil(uint64_t at_ns);
  void Learn(uint64_t took_ns);

  const std::unique_ptr<MetricSource> source_;
  const uint64_t asked_ns_;
  const OnRead on_read_;
  std::atomic<uint64_t> interval_ns_;
  std::atomic<uint64_t> usual_read_ns_ = 0;
  std::array<uint64_t, 5> last_reads_ns_ = {};  // a ring
  size_t reads_ = 0;
  StopSignal stop_;
  std::thread thread_;
};

}  // namespace sbump
