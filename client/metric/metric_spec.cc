#include "client/metric/metric_spec.h"

#include <re2/re2.h>

#include <charconv>

#include "client/printable.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/utf8.h"
#include "daemon/match/native_pattern.h"
#include "daemon/match/pattern.h"

namespace sbump {
namespace {

constexpr size_t kLongestRegex = 4096;

using What = decltype(MetricSpec::what);

absl::Status Bad(std::string_view why) { return absl::InvalidArgumentError(ToAbsl(why)); }

// The first # separates: a URL's own fragment is never sent to a server.
absl::StatusOr<std::pair<std::string_view, std::string_view>> SplitAtHash(std::string_view text,
                                                                          std::string_view left,
                                                                          std::string_view right) {
  const size_t hash = text.find('#');
  if (hash == text.npos || hash + 1 == text.size())
    return Bad(StrCat("behind ", left, " a # and ", right, " are missing"));
  if (hash == 0) return Bad(StrCat(left, " is missing before the #"));
  return std::pair{text.substr(0, hash), text.substr(hash + 1)};
}

absl::StatusOr<What> ParseCalls(std::string_view text) {
  SB_ASSIGN_OR_RETURN(const Pattern pattern, ParseExclude(text));
  return CallsMetric{pattern.text};
}

absl::StatusOr<What> ParseNative(std::string_view text) {
  SB_ASSIGN_OR_RETURN(const NativePattern pattern, ParseNativePattern(text));
  if (pattern.overrides.delay_ns || pattern.overrides.every)
    return Bad("a metric's function is only counted: no @delay, no @every");
  return NativeMetric{pattern.text};
}

// `p99(`, `p99.9(`: takes it and the closing parenthesis; nothing where it is no latency.
absl::StatusOr<std::optional<double>> TakeQuantile(std::string_view& text) {
  const size_t open = text.find('(');
  if (open == text.npos) return std::optional<double>();
  const std::string_view digits = text.substr(0, open);
  double percent = 0;
  const auto [end, error] = std::from_chars(digits.data() + digits.starts_with('p'),
                                            digits.data() + digits.size(), percent);
  const double quantile = percent / 100;  // of the least numbers it is 0
  if (!digits.starts_with('p') || error != std::errc() || end != digits.data() + digits.size() ||
      !(quantile > 0 && quantile < 1))
    return Bad("in front of ( only a quantile is known, from p1 to p99.9");
  if (!text.ends_with(')')) return Bad("the closing ) is missing at the end");
  text.remove_prefix(open + 1);
  text.remove_suffix(1);
  return std::optional<double>(quantile);
}

// A histogram's buckets are cumulative: they are no counters to be added up.
absl::Status CheckSeries(PrometheusMetric& metric) {
  constexpr std::string_view kBucket = "_bucket";
  const bool names_bucket = metric.selector.name.ends_with(kBucket);
  const bool names_le = metric.selector.labels.contains("le");
  if (metric.quantile) {
    if (names_le) return Bad("a latency is computed from all buckets: leave the label le out");
    if (!names_bucket) metric.selector.name += kBucket;
  } else if (names_bucket && !names_le) {
    const std::string name(metric.selector.name, 0, metric.selector.name.size() - kBucket.size());
    return Bad(StrCat("buckets are cumulative and cannot be added up: write ", name,
                      "_count for how many there were, or p99(", name, ") for their latency"));
  }
  return absl::OkStatus();
}

absl::StatusOr<What> ParsePrometheus(std::string_view text) {
  SB_ASSIGN_OR_RETURN(const auto parts, SplitAtHash(text, "the URL", "a metric's name"));
  PrometheusMetric metric;
  SB_ASSIGN_OR_RETURN(metric.url, ParseHttpUrl(parts.first));
  std::string_view rest = parts.second;
  // A parenthesis in a label's value is no latency's.
  if (rest.find('(') < rest.find('{')) {
    SB_ASSIGN_OR_RETURN(metric.quantile, TakeQuantile(rest));
  }
  SB_ASSIGN_OR_RETURN(metric.selector, TakeSeriesName(rest));
  if (!rest.empty()) {
    return Bad(StrCat("\"", Printable(rest.substr(0, 40)), "\" is not understood behind ",
                      metric.selector.name, "; only labels with =\"value\" are"));
  }
  SB_RETURN_IF_ERROR(CheckSeries(metric));
  return metric;
}

absl::StatusOr<What> ParseJson(std::string_view text) {
  if (text.starts_with("//"))
    return Bad("the URL follows behind the metric's own http:, with its scheme");
  SB_ASSIGN_OR_RETURN(const auto parts, SplitAtHash(text, "the URL", "the number's path"));
  JsonMetric metric;
  SB_ASSIGN_OR_RETURN(metric.url, ParseHttpUrl(parts.first));
  SB_ASSIGN_OR_RETURN(metric.path, ParseJsonPath(parts.second));
  return metric;
}

LogTotal TakeTotal(std::string_view& regex) {
  for (const auto& [word, total] :
       {std::pair<std::string_view, LogTotal>{"count:", LogTotal::kLines},
        {"sum:", LogTotal::kSum},
        {"last:", LogTotal::kLast}}) {
    if (!regex.starts_with(word)) continue;
    regex.remove_prefix(word.size());
    return total;
  }
  return LogTotal::kLines;
}

absl::StatusOr<What> ParseLog(std::string_view text) {
  SB_ASSIGN_OR_RETURN(const auto parts, SplitAtHash(text, "the file", "a regular expression"));
  std::string_view regex = parts.second;
  const bool says_count = regex.starts_with("count:");
  LogMetric metric{.file = std::string(parts.first)};
  metric.total = TakeTotal(regex);
  metric.regex = regex;
  if (regex.empty()) return Bad("the regular expression is empty");
  if (regex.size() > kLongestRegex)
    return Bad(StrCat("the regular expression is longer than ", kLongestRegex, " bytes"));
  re2::RE2::Options options;
  options.set_log_errors(false);
  const re2::RE2 compiled(metric.regex, options);
  if (!compiled.ok())
    return Bad(StrCat("the regular expression is none of RE2's: ", Printable(compiled.error())));
  const int groups = compiled.NumberOfCapturingGroups();
  if (metric.total != LogTotal::kLines && groups != 1)
    return Bad(StrCat("exactly one group (...) captures the number; this has ", groups));
  if (metric.total == LogTotal::kLines && groups > 0 && !says_count) {
    return Bad(
        "a group (...) captures a number: say whether its numbers are added up (sum:REGEX) or are "
        "a running total (last:REGEX); count:REGEX counts lines, as (?:...) does");
  }
  return metric;
}

absl::StatusOr<What> ParseCommand(std::string_view text) {
  if (StripPythonSpace(text).empty()) return Bad("the command is missing");
  return CommandMetric{std::string(text)};
}

struct Form {
  std::string_view prefix;
  absl::StatusOr<What> (*parse)(std::string_view text);
  std::string_view example;
};

constexpr Form kForms[] = {
    {"calls:", ParseCalls, "calls:*:Engine.step"},
    {"native:", ParseNative, "native:libfoo.so:foo_step"},
    {"prom:", ParsePrometheus,
     "prom:http://127.0.0.1:8000/metrics#requests_total{path=\"/v1\"}, or for a latency "
     "prom:http://127.0.0.1:8000/metrics#p99(request_seconds)"},
    {"http:", ParseJson, "http:http://127.0.0.1:8000/stats#stats.tokens[0].total"},
    {"log:", ParseLog, "log:/var/log/app.log#request done, or log:app.log#sum:tokens=([0-9]+)"},
    {"cmd:", ParseCommand, "cmd:redis-cli get done"},
};

absl::Status UnknownForm() {
  std::string examples;
  for (const Form& form : kForms) examples += StrCat("\n  ", form.example);
  return Bad(
      StrCat("a metric begins with calls:, native:, prom:, http:, log: or cmd:, as in", examples));
}

}  // namespace

bool MetricSpec::IsCountedByDaemon() const {
  return std::holds_alternative<CallsMetric>(what) || std::holds_alternative<NativeMetric>(what);
}

std::optional<double> MetricSpec::Quantile() const {
  const auto* prometheus = std::get_if<PrometheusMetric>(&what);
  return prometheus == nullptr ? std::nullopt : prometheus->quantile;
}

absl::StatusOr<MetricSpec> ParseMetric(std::string_view text) {
  const std::string shown =
      StrCat("metric \"", Printable(WithoutPassword(text.substr(0, 256))), "\"");
  if (text.size() > kLongestMetric)
    return Bad(StrCat(shown, ": longer than ", kLongestMetric, " bytes"));
  if (!IsStrictUtf8(text) || text.find('\0') != text.npos)
    return Bad(StrCat(shown, ": not UTF-8, or a NUL in it"));
  for (const Form& form : kForms) {
    if (!text.starts_with(form.prefix)) continue;
    absl::StatusOr<What> what = form.parse(text.substr(form.prefix.size()));
    if (what.ok()) return MetricSpec{std::string(text), *std::move(what)};
    return Bad(StrCat(shown, ": ", what.status().message(), "\nwrite for example ", form.example));
  }
  return Annotate(UnknownForm(), shown);
}

}  // namespace sbump
