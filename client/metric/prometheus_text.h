// The text that Prometheus scrapes: format 0.0.4, and OpenMetrics as far as they are alike.
//
// Strict about the series that is asked for, tolerant of all other lines: they are skipped. Time
// stamps and exemplars are ignored. Values are read as Go does: 1e9, +Inf, NaN.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sbump {

inline constexpr size_t kMostLabels = 64;
inline constexpr size_t kMostSeries = 100'000;  // of one name

struct SeriesName {
  std::string name;                           // [a-zA-Z_:][a-zA-Z0-9_:]*
  std::map<std::string, std::string> labels;  // unescaped

  // `name{a="x",b="y"}`; TakeSeriesName() gives an equal one.
  std::string Text() const;
  // All labels of `selector` are there, with the same values.
  bool IsTakenBy(const SeriesName& selector) const;
};

// Takes `name` or `name{label="value",...}` from the front of `rest`; in a value \\, \" and \n
// are escapes. kInvalidArgument: why.
absl::StatusOr<SeriesName> TakeSeriesName(std::string_view& rest);

struct Series {
  SeriesName name;
  double value = 0;
};

struct PrometheusText {
  std::vector<Series> series;
  std::string type;  // "counter", as the text says of this name's family; empty: it does not
};

// All series named `name`. kDataLoss: one of its lines cannot be read, or there are more than
// kMostSeries; the message has the line's number.
absl::StatusOr<PrometheusText> ReadPrometheusText(std::string_view text, std::string_view name);

// Names in `text` that are like `name`, those that begin with it first; 5 at most. For "did you
// mean".
std::vector<std::string> NamesLike(std::string_view name, std::string_view text);

}  // namespace sbump
