// The sources behind OpenMetric(), one for each form.
#pragma once

#include <memory>
#include <string>

#include "client/metric/metric_source.h"

namespace sbump {

using OpenedSource = absl::StatusOr<std::unique_ptr<MetricSource>>;

OpenedSource OpenPrometheusMetric(const std::string& text, const PrometheusMetric& metric,
                                  const MetricLimits& limits);
OpenedSource OpenJsonMetric(const std::string& text, const JsonMetric& metric,
                            const MetricLimits& limits);
OpenedSource OpenLogMetric(const std::string& text, const LogMetric& metric);
OpenedSource OpenCommandMetric(const std::string& text, const CommandMetric& metric,
                               const MetricLimits& limits);

}  // namespace sbump
