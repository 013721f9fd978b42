// What `--metric` names (docs/metrics-of-work.md):
//
//   calls:PATTERN                calls of Python functions, counted by the daemon
//   native:PATH:SYMBOL           calls of native functions, counted by the daemon
//   prom:URL#NAME{label="v"}     a counter as Prometheus scrapes it
//   prom:URL#p99(NAME{...})      a latency: a quantile of a histogram
//   http:URL#JSON.PATH           a number in a JSON reply
//   log:FILE#REGEX               matching lines; sum:REGEX, last:REGEX: of captured numbers
//   cmd:COMMAND                  the number that a shell command prints
//
// All but latencies are running totals: only how much they rise counts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "client/metric/http_url.h"
#include "client/metric/json_path.h"
#include "client/metric/prometheus_text.h"

namespace sbump {

// Counted by the daemon: the pattern is one of daemon/match, without overrides.
struct CallsMetric {
  std::string pattern;
};
struct NativeMetric {
  std::string pattern;
};

struct PrometheusMetric {
  HttpUrl url;
  SeriesName selector;             // of a latency: its buckets, `NAME_bucket`
  std::optional<double> quantile;  // of a latency: above 0, below 1
};

struct JsonMetric {
  HttpUrl url;
  JsonPath path;
};

enum class LogTotal {
  kLines,  // that match
  kSum,    // of the captured numbers
  kLast,   // the captured number is a running total
};

struct LogMetric {
  std::string file;
  LogTotal total = LogTotal::kLines;
  std::string regex;  // RE2's syntax; with exactly one group where it is no kLines
};

struct CommandMetric {
  std::string command;  // for /bin/sh -c
};

struct MetricSpec {
  std::string text;  // ParseMetric(text) gives an equal one
  std::variant<CallsMetric, NativeMetric, PrometheusMetric, JsonMetric, LogMetric, CommandMetric>
      what;

  bool IsCountedByDaemon() const;
  // Of a latency metric.
  std::optional<double> Quantile() const;
};

inline constexpr size_t kLongestMetric = 16 * 1024;

// kInvalidArgument, with an example of the right form.
absl::StatusOr<MetricSpec> ParseMetric(std::string_view text);

}  // namespace sbump
