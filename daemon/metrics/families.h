// What is counted, as Prometheus wants it.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "daemon/metrics/exporter.h"

namespace sbump {

std::vector<prometheus::MetricFamily> FamiliesOf(const Meters& meters, const Gauges& gauges);

}  // namespace sbump
