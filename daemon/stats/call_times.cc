#include "daemon/stats/call_times.h"

#include <boost/histogram.hpp>
#include <cmath>

namespace sbump {
namespace {

namespace histogram = boost::histogram;

// Bins of 3.7 %. Their counters are a byte wide until one needs more.
constexpr int kDecades = 11, kBinsOfDecade = 64;
constexpr double kFromNs = 100;
using LogAxis = histogram::axis::regular<double, histogram::axis::transform::log>;

}  // namespace

struct CallTimes::Durations {
  histogram::histogram<std::tuple<LogAxis>> bins = histogram::make_histogram(
      LogAxis(kDecades * kBinsOfDecade, kFromNs, kFromNs* std::pow(10, kDecades)));
};

CallTimes::CallTimes() : durations_(std::make_unique<Durations>()) {}
CallTimes::CallTimes(CallTimes&&) noexcept = default;
CallTimes& CallTimes::operator=(CallTimes&&) noexcept = default;
CallTimes::~CallTimes() = default;

void CallTimes::Add(uint64_t duration_ns, uint64_t self_ns, bool raised) {
  ++sums_.calls;
  sums_.raised += raised;
  sums_.total_ns += duration_ns;
  sums_.self_ns += self_ns;
  durations_->bins(static_cast<double>(duration_ns));
}

// The nearest rank's bin: the middle of it, by ratio.
uint64_t CallTimes::Percentile(double fraction) const {
  const double rank = std::floor(fraction * static_cast<double>(sums_.calls));
  double before = 0;
  for (const auto& bin : histogram::indexed(durations_->bins, histogram::coverage::all)) {
    before += *bin;
    if (before <= rank) continue;
    const double lower = bin.bin().lower(), upper = bin.bin().upper();
    if (lower <= 0) return static_cast<uint64_t>(upper);  // below the first
    return static_cast<uint64_t>(std::isinf(upper) ? lower : std::sqrt(lower * upper));
  }
  return 0;
}

SpanFigures CallTimes::Figures() const {
  SpanFigures figures = sums_;
  figures.p50_ns = Percentile(0.50);
  figures.p99_ns = Percentile(0.99);
  return figures;
}

}  // namespace sbump
