#include "client/metric/metric_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "daemon/base/clock.h"

namespace sbump {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSecondNs = 1000 * kMs;

// Says how long its reads took, and may block until it is cancelled.
class FakeSource : public MetricSource {
 public:
  explicit FakeSource(std::vector<uint64_t> took_ns) : took_ns_(std::move(took_ns)) {}

  absl::StatusOr<MetricSample> Read() override {
    const size_t read = reads_++;
    if (read < took_ns_.size() && took_ns_[read] == kFails) return absl::UnavailableError("x");
    if (read < took_ns_.size() && took_ns_[read] == kBlocks) {
      blocking_.Set();
      pollfd fd{cancelled_.fd(), POLLIN, 0};
      poll(&fd, 1, 60'000);
      return absl::CancelledError("x");
    }
    return MetricSample{.at_ns = MonotonicNs(),
                        .took_ns = read < took_ns_.size() ? took_ns_[read] : took_ns_.back(),
                        .value = static_cast<double>(read)};
  }
  void Cancel() override { cancelled_.Set(); }
  const std::string& text() const override { return text_; }
  const StopSignal& blocking() const { return blocking_; }

  static constexpr uint64_t kFails = 0;
  static constexpr uint64_t kBlocks = 1;

 private:
  const std::vector<uint64_t> took_ns_;
  size_t reads_ = 0;
  StopSignal blocking_;
  StopSignal cancelled_;
  const std::string text_ = "fake";
};

// What was reported, and what the interval was then.
class Reports {
 public:
  MetricSampler::OnRead OnRead() {
    return [this](absl::StatusOr<MetricSample> read) {
      const std::lock_guard lock(mutex_);
      reads_.push_back(std::move(read));
      changed_.notify_all();
    };
  }
  bool WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30),
                             [&] { return reads_.size() >= count; });
  }
  std::vector<absl::StatusOr<MetricSample>> reads() {
    const std::lock_guard lock(mutex_);
    return reads_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<absl::StatusOr<MetricSample>> reads_;
};

TEST(MetricSamplerTest, ReadsAtEachInterval) {
  Reports reports;
  MetricSampler sampler(std::make_unique<FakeSource>(std::vector<uint64_t>{10}), 5 * kMs,
                        reports.OnRead());
  ASSERT_TRUE(reports.WaitFor(20));
  sampler.Stop();
  EXPECT_EQ(sampler.interval_ns(), 5 * kMs);
  EXPECT_EQ(sampler.usual_read_ns(), 10u);
  const auto reads = reports.reads();
  for (size_t i = 0; i < reads.size(); ++i) EXPECT_EQ(reads[i]->value, static_cast<double>(i));
  // Late ones are left out, and never caught up with: at least so long, however busy the machine.
  EXPECT_GE(reads[19]->at_ns - reads[0]->at_ns, 18 * 5 * kMs);
}

TEST(MetricSamplerTest, SlowReadsLengthenTheInterval) {
  Reports reports;
  MetricSampler sampler(std::make_unique<FakeSource>(std::vector<uint64_t>{2 * kMs}), 5 * kMs,
                        reports.OnRead());
  ASSERT_TRUE(reports.WaitFor(3));
  sampler.Stop();
  EXPECT_EQ(sampler.interval_ns(), 20 * kMs);
  EXPECT_EQ(sampler.usual_read_ns(), 2 * kMs);
}

TEST(MetricSamplerTest, ASingleSlowReadDoesNot) {
  Reports reports;
  MetricSampler sampler(
      std::make_unique<FakeSource>(std::vector<uint64_t>{10, 10, 10, 900 * kSecondNs, 10}), 1 * kMs,
      reports.OnRead());
  ASSERT_TRUE(reports.WaitFor(6));
  sampler.Stop();
  EXPECT_EQ(sampler.interval_ns(), 1 * kMs);
}

TEST(MetricSamplerTest, ASlowFirstReadLengthensOneInterval) {
  Reports reports;
  MetricSampler sampler(std::make_unique<FakeSource>(std::vector<uint64_t>{20 * kMs, 10}), 1 * kMs,
                        reports.OnRead());
  ASSERT_TRUE(reports.WaitFor(2));
  sampler.Stop();
  EXPECT_EQ(sampler.interval_ns(), 1 * kMs);
}

TEST(MetricSamplerTest, TheIntervalShrinksAgain) {
  Reports reports;
  MetricSampler sampler(std::make_unique<FakeSource>(std::vector<uint64_t>{kMs, kMs, kMs, 10}),
                        2 * kMs, reports.OnRead());
  ASSERT_TRUE(reports.WaitFor(1));
  ASSERT_TRUE(reports.WaitFor(7));
  sampler.Stop();
  EXPECT_EQ(sampler.interval_ns(), 2 * kMs);
}

TEST(MetricSamplerTest, FailuresAreReportedAndItGoesOn) {
  Reports reports;
  MetricSampler sampler(
      std::make_unique<FakeSource>(std::vector<uint64_t>{10, FakeSource::kFails, 10}), kMs,
      reports.OnRead());
  ASSERT_TRUE(reports.WaitFor(3));
  sampler.Stop();
  const auto reads = reports.reads();
  EXPECT_TRUE(reads[0].ok());
  EXPECT_EQ(reads[1].status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(reads[2].ok());
}

TEST(MetricSamplerTest, StopsWhileItWaits) {
  Reports reports;
  MetricSampler sampler(std::make_unique<FakeSource>(std::vector<uint64_t>{10}), 3600 * kSecondNs,
                        reports.OnRead());
  ASSERT_TRUE(reports.WaitFor(1));
  const uint64_t begin_ns = MonotonicNs();
  sampler.Stop();
  EXPECT_LT(MonotonicNs() - begin_ns, 20 * kSecondNs);
  sampler.Stop();
  EXPECT_EQ(reports.reads().size(), 1u);
}

TEST(MetricSamplerTest, StopsWhileItReads) {
  Reports reports;
  auto source = std::make_unique<FakeSource>(std::vector<uint64_t>{10, FakeSource::kBlocks});
  const StopSignal& blocking = source->blocking();
  MetricSampler sampler(std::move(source), kMs, reports.OnRead());
  pollfd fd{blocking.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&fd, 1, 30'000), 1);
  sampler.Stop();
  EXPECT_EQ(reports.reads().size(), 1u);  // what was cut short is not reported
}

}  // namespace
}  // namespace sbump
