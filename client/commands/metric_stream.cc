#include "client/commands/metric_stream.h"

#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "client/metric/metric_source.h"
#include "client/metric/metric_spec.h"
#include "client/output_file.h"
#include "client/printable.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Of a latency: how many ns one of its histogram's units is; of anything else 1. Prometheus has the
// unit in the name, and seconds as the rule.
absl::StatusOr<double> NsOfUnit(const MetricSpec& spec) {
  const auto* metric = std::get_if<PrometheusMetric>(&spec.what);
  if (metric == nullptr || !metric->quantile) return 1;
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"_seconds_bucket", 1e9}, {"_milliseconds_bucket", 1e6},
      {"_ms_bucket", 1e6},      {"_microseconds_bucket", 1e3},
      {"_us_bucket", 1e3},      {"_nanoseconds_bucket", 1},
      {"_ns_bucket", 1}};
  for (const auto& [ending, ns] : kUnits) {
    if (metric->selector.name.ends_with(ending)) return ns;
  }
  return absl::InvalidArgumentError(
      StrCat("--metric ", spec.text, ": the unit of the histogram is not in its name (_seconds, ",
             "_milliseconds, ...): which it is cannot be told"));
}

v1::RunRequest ToRequest(const MetricSample& sample, double ns_of_unit) {
  v1::RunRequest request;
  v1::MetricSamples::Sample& message = *request.mutable_samples()->add_samples();
  message.set_at_ns(sample.at_ns);
  message.set_value(sample.value);
  message.set_epoch(sample.epoch);
  for (const MetricBucket& from : sample.buckets) {
    v1::MetricSamples::Bucket& bucket = *message.add_buckets();
    bucket.set_upper_ns(from.upper * ns_of_unit);
    bucket.set_count(from.count);
  }
  return request;
}

}  // namespace

absl::Status TakeMetric(const std::string& text, v1::WorkMetric* metric) {
  SB_ASSIGN_OR_RETURN(const MetricSpec spec, ParseMetric(text));
  if (const auto* calls = std::get_if<CallsMetric>(&spec.what)) {
    metric->mutable_calls()->set_pattern(calls->pattern);
  } else if (const auto* native = std::get_if<NativeMetric>(&spec.what)) {
    metric->mutable_native()->set_target(native->pattern);
  } else {
    metric->mutable_sampled()->set_text(spec.text);
    metric->mutable_sampled()->set_quantile(spec.Quantile().value_or(0));
    SB_RETURN_IF_ERROR(NsOfUnit(spec).status());
    SB_RETURN_IF_ERROR(OpenMetric(spec).status());  // before anything is attached to
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<MetricSampler>> StartSampling(const std::string& text,
                                                             ExperimentRequests* requests) {
  SB_ASSIGN_OR_RETURN(const MetricSpec spec, ParseMetric(text));
  if (spec.IsCountedByDaemon()) return nullptr;
  SB_ASSIGN_OR_RETURN(const double ns_of_unit, NsOfUnit(spec));
  SB_ASSIGN_OR_RETURN(std::unique_ptr<MetricSource> source, OpenMetric(spec));
  return std::make_unique<MetricSampler>(
      std::move(source), kUsualMetricIntervalNs,
      [requests, ns_of_unit](const absl::StatusOr<MetricSample>& read) {
        if (read.ok()) {
          for (const std::string& note : read->notes) Say(StrCat("note: ", Printable(note)));
          requests->Send(ToRequest(*read, ns_of_unit));
          return;
        }
        v1::RunRequest failed;
        failed.mutable_samples()->set_failure(std::string(ToStd(read.status().message())));
        requests->Send(failed);
      });
}

}  // namespace sbump
