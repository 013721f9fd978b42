// Metrics of work: what the user writes, and what a service replies.
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/metric/json_path.h"
#include "client/metric/metric_spec.h"
#include "client/metric/prometheus_buckets.h"
#include "client/metric/prometheus_text.h"
#include "daemon/estimate/window_work.h"
#include "tests/fuzz/one_of.h"
#include "tests/fuzz/require.h"

namespace sbump {
namespace {

void CheckName(const SeriesName& name) {
  const std::string text = name.Text();
  std::string_view rest = text;
  const auto again = TakeSeriesName(rest);
  Require(again.ok() && rest.empty());
  Require(again->name == name.name && again->labels == name.labels);
  Require(again->IsTakenBy(name));
}

void TryMetric(std::string_view text) {
  const auto spec = ParseMetric(text);
  if (!spec.ok()) {
    Require(absl::IsInvalidArgument(spec.status()) && !spec.status().message().empty());
    return;
  }
  Require(spec->text == text);
  const auto quantile = spec->Quantile();
  Require(!quantile || (*quantile > 0 && *quantile < 1));
  if (const auto* prometheus = std::get_if<PrometheusMetric>(&spec->what)) {
    CheckName(prometheus->selector);
    Require(!prometheus->url.url.empty());
  }
  if (const auto* json = std::get_if<JsonMetric>(&spec->what)) Require(!json->path.steps.empty());
}

// What two replies say of the time between them.
void CheckLatency(const std::vector<MetricBucket>& first, const std::vector<MetricBucket>& last) {
  const std::vector<MetricSample> samples = {{.at_ns = 0, .buckets = first},
                                             {.at_ns = 100, .buckets = last}};
  const auto latency = LatencyIn(samples, 0, 100, 0.9);
  if (latency.ok()) Require(latency->observations > 0 && !std::isnan(latency->value));
}

// A text whose series are named `x`.
void TryPrometheus(std::string_view text) {
  const auto read = ReadPrometheusText(text, "x");
  if (!read.ok()) {
    Require(absl::IsDataLoss(read.status()));
  } else {
    for (const Series& series : read->series) CheckName(series.name);
  }
  Require(NamesLike("x_total", text).size() <= 5);
  const auto buckets = ReadPrometheusText(text, "x_bucket");
  if (!buckets.ok() || buckets->series.empty()) return;
  const auto summed = SumBuckets(buckets->series);
  if (!summed.ok()) return;
  Require(std::isinf(summed->buckets.back().upper));
  std::vector<MetricBucket> none = summed->buckets;
  for (MetricBucket& bucket : none) bucket.count = 0;
  CheckLatency(none, summed->buckets);
}

// A path, a line feed, a document.
void TryJson(std::string_view text) {
  const std::string_view path_text = text.substr(0, text.find('\n'));
  const auto path = ParseJsonPath(path_text);
  if (!path.ok()) {
    Require(absl::IsInvalidArgument(path.status()));
    return;
  }
  Require(!path->steps.empty() && path->steps.size() <= kDeepestJson);
  if (path_text.size() == text.size()) return;
  const auto number = NumberAt(*path, text.substr(path_text.size() + 1));
  Require(number.ok() || absl::IsDataLoss(number.status()) || absl::IsNotFound(number.status()));
}

constexpr Trial kTrials[] = {TryMetric, TryPrometheus, TryJson};

}  // namespace
}  // namespace sbump

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return sbump::TryOneOf(sbump::kTrials, data, size);
}
