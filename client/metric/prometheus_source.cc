#include <algorithm>

#include "client/metric/http_getter.h"
#include "client/metric/prometheus_buckets.h"
#include "client/metric/sources.h"
#include "client/metric/timed_source.h"
#include "client/printable.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// OpenMetrics is understood, but whoever speaks both speaks this more cheaply.
constexpr char kAccept[] = "text/plain;version=0.0.4,application/openmetrics-text;q=0.5,*/*;q=0.1";
constexpr size_t kShownSeries = 3;

class PrometheusSource : public TimedSource {
 public:
  PrometheusSource(std::string text, const PrometheusMetric& metric)
      : TimedSource(std::move(text)),
        selector_(metric.selector),
        is_latency_(metric.quantile.has_value()) {}

  absl::Status Init(const HttpUrl& url, const MetricLimits& limits) {
    SB_ASSIGN_OR_RETURN(getter_, HttpGetter::Open(url, kAccept, limits.timeout_ns, stop()));
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Reading> Take() override;
  absl::StatusOr<Reading> Counter(const PrometheusText& text) const;
  absl::StatusOr<Reading> Latency(const PrometheusText& text) const;
  // Why nothing matches.
  absl::Status NoSeries(const std::vector<Series>& others, std::string_view body) const;
  absl::Status NoName(std::string_view body) const;
  void NoteSum(size_t count, std::string_view what, Reading& reading) const;

  const SeriesName selector_;
  const bool is_latency_;
  std::unique_ptr<HttpGetter> getter_;
};

// kDataLoss: a series stands there twice, and would count twice.
absl::Status AddTotals(const std::vector<Series>& all, Reading& reading) {
  for (const Series& series : all) {
    if (!reading.totals.emplace(series.name.Text(), series.value).second)
      return absl::DataLossError(StrCat(Printable(series.name.Text()), " stands there twice"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Reading> PrometheusSource::Take() {
  SB_ASSIGN_OR_RETURN(const std::string body, getter_->Get());
  SB_ASSIGN_OR_RETURN(PrometheusText text, ReadPrometheusText(body, selector_.name));
  std::vector<Series> taken;
  for (Series& series : text.series) {
    if (series.name.IsTakenBy(selector_)) taken.push_back(std::move(series));
  }
  if (taken.empty()) return NoSeries(text.series, body);
  text.series = std::move(taken);
  return is_latency_ ? Latency(text) : Counter(text);
}

void PrometheusSource::NoteSum(size_t count, std::string_view what, Reading& reading) const {
  if (count < 2) return;
  reading.notes.push_back(
      StrCat(count, " ", what, " of ", selector_.Text(), " match and are added up"));
}

absl::StatusOr<Reading> PrometheusSource::Counter(const PrometheusText& text) const {
  if (text.type == "summary") {
    return absl::DataLossError(
        StrCat(selector_.name, " is a summary: its quantiles are no totals; write ", selector_.name,
               "_count for how many there were, or ", selector_.name, "_sum"));
  }
  Reading reading;
  SB_RETURN_IF_ERROR(AddTotals(text.series, reading));
  for (const Series& series : text.series) reading.value += series.value;
  NoteSum(text.series.size(), "series", reading);
  if (text.type == "gauge") {
    reading.notes.push_back(StrCat(
        selector_.name, " is a gauge, as the service says: it counts only if it never falls"));
  }
  return reading;
}

absl::StatusOr<Reading> PrometheusSource::Latency(const PrometheusText& text) const {
  SB_ASSIGN_OR_RETURN(SummedBuckets summed, SumBuckets(text.series));
  Reading reading;
  SB_RETURN_IF_ERROR(AddTotals(text.series, reading));
  reading.value = summed.buckets.back().count;
  reading.buckets = std::move(summed.buckets);
  NoteSum(summed.histograms, "histograms", reading);
  return reading;
}

absl::Status PrometheusSource::NoSeries(const std::vector<Series>& others,
                                        std::string_view body) const {
  if (others.empty()) return NoName(body);
  std::string shown;
  for (size_t i = 0; i < std::min(others.size(), kShownSeries); ++i)
    shown += StrCat(i == 0 ? "" : ", ", Printable(others[i].name.Text()));
  return absl::NotFoundError(StrCat("no series of ", selector_.name,
                                    " has these labels; there are ", others.size(), ": ", shown,
                                    others.size() > kShownSeries ? ", ..." : ""));
}

absl::Status PrometheusSource::NoName(std::string_view body) const {
  const std::vector<std::string> likes = NamesLike(selector_.name, body);
  const std::string why = StrCat("there is no ", selector_.name, " in the reply");
  if (std::ranges::find(likes, selector_.name + "_bucket") != likes.end()) {
    return absl::NotFoundError(StrCat(why, ", but a histogram: write ", selector_.name,
                                      "_count for how many there were, or p99(", selector_.name,
                                      ") for their latency"));
  }
  if (likes.empty())
    return absl::NotFoundError(
        StrCat(why, ", which begins \"", Printable(body.substr(0, 60)), "\""));
  std::string names;
  for (const std::string& name : likes) names += StrCat(names.empty() ? "" : ", ", name);
  return absl::NotFoundError(StrCat(why, "; did you mean ", names, "?"));
}

}  // namespace

OpenedSource OpenPrometheusMetric(const std::string& text, const PrometheusMetric& metric,
                                  const MetricLimits& limits) {
  auto source = std::make_unique<PrometheusSource>(text, metric);
  SB_RETURN_IF_ERROR(source->Init(metric.url, limits));
  return std::unique_ptr<MetricSource>(std::move(source));
}

}  // namespace sbump
