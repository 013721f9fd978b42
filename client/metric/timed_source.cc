#include "client/metric/timed_source.h"

#include "client/printable.h"
#include "daemon/base/clock.h"
#include "daemon/base/status.h"

namespace sbump {
namespace {

constexpr size_t kMostNotes = 100;

}  // namespace

absl::StatusOr<Reading> TimedSource::TakeAndCheck() {
  if (stop_.is_set()) return absl::CancelledError("stopped");
  absl::StatusOr<Reading> reading = Take();
  if (!reading.ok()) {
    if (absl::IsAborted(reading.status())) totals_.BeginAgain();
    return reading;
  }
  SB_RETURN_IF_ERROR(totals_.Admit(std::move(reading->totals)));
  return reading;
}

absl::StatusOr<MetricSample> TimedSource::Read() {
  const uint64_t begin_ns = MonotonicNs();
  absl::StatusOr<Reading> reading = TakeAndCheck();
  const uint64_t took_ns = MonotonicNs() - begin_ns;
  if (!reading.ok()) return Annotate(reading.status(), Printable(text_));
  return MetricSample{.at_ns = begin_ns + took_ns / 2,
                      .took_ns = took_ns,
                      .value = reading->value,
                      .buckets = std::move(reading->buckets),
                      .epoch = totals_.epoch(),
                      .notes = NotSaidYet(std::move(reading->notes))};
}

std::vector<std::string> TimedSource::NotSaidYet(std::vector<std::string> notes) {
  std::vector<std::string> fresh;
  for (std::string& note : notes) {
    if (said_.size() < kMostNotes && said_.insert(note).second) fresh.push_back(std::move(note));
  }
  return fresh;
}

}  // namespace sbump
