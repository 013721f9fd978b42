#include <type_traits>

#include "client/metric/sources.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {

OpenedSource OpenMetric(const MetricSpec& spec, const MetricLimits& limits) {
  const auto open = [&](const auto& metric) -> OpenedSource {
    using Metric = std::decay_t<decltype(metric)>;
    if constexpr (std::is_same_v<Metric, PrometheusMetric>) {
      return OpenPrometheusMetric(spec.text, metric, limits);
    } else if constexpr (std::is_same_v<Metric, JsonMetric>) {
      return OpenJsonMetric(spec.text, metric, limits);
    } else if constexpr (std::is_same_v<Metric, LogMetric>) {
      return OpenLogMetric(spec.text, metric);
    } else if constexpr (std::is_same_v<Metric, CommandMetric>) {
      return OpenCommandMetric(spec.text, metric, limits);
    } else {
      return absl::InvalidArgumentError(
          StrCat(spec.text, ": the daemon counts these calls; there is nothing to read here"));
    }
  };
  return std::visit(open, spec.what);
}

}  // namespace sbump
