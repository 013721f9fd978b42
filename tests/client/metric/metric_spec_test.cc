#include "client/metric/metric_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbump {
namespace {

using testing::HasSubstr;

template <typename T>
T Parsed(std::string_view text) {
  const auto spec = ParseMetric(text);
  EXPECT_TRUE(spec.ok()) << spec.status();
  if (!spec.ok() || !std::holds_alternative<T>(spec->what)) {
    ADD_FAILURE() << text;
    return {};
  }
  EXPECT_EQ(spec->text, text);
  EXPECT_EQ(spec->IsCountedByDaemon(), text.starts_with("calls:") || text.starts_with("native:"));
  return std::get<T>(spec->what);
}

TEST(MetricSpecTest, WhatTheDaemonCounts) {
  EXPECT_EQ(Parsed<CallsMetric>("calls:*:Engine.step").pattern, "*:Engine.step");
  EXPECT_EQ(Parsed<CallsMetric>("calls: */app.py : f").pattern, "*/app.py:f");
  EXPECT_EQ(Parsed<NativeMetric>("native:libc.so.6:write").pattern, "libc.so.6:write");
  EXPECT_EQ(Parsed<NativeMetric>("native:libfoo.so+0x1139").pattern, "libfoo.so+0x1139");
}

TEST(MetricSpecTest, Prometheus) {
  const auto plain =
      Parsed<PrometheusMetric>("prom:http://127.0.0.1:8000/metrics#vllm:tokens_total");
  EXPECT_EQ(plain.url.url, "http://127.0.0.1:8000/metrics");
  EXPECT_EQ(plain.selector.name, "vllm:tokens_total");
  EXPECT_TRUE(plain.selector.labels.empty());
  EXPECT_FALSE(plain.quantile);
  const auto labelled =
      Parsed<PrometheusMetric>(R"x(prom:http://h/m#x_count{a="1", b="(\"\\\n)",})x");
  EXPECT_EQ(labelled.selector.labels.at("a"), "1");
  EXPECT_EQ(labelled.selector.labels.at("b"), "(\"\\\n)");
  EXPECT_EQ(labelled.selector.Text(), R"x(x_count{a="1",b="(\"\\\n)"})x");
  // Some of the buckets are a counter, as long as the label says which.
  EXPECT_EQ(Parsed<PrometheusMetric>(R"(prom:http://h/m#x_bucket{le="1"})").selector.name,
            "x_bucket");
}

TEST(MetricSpecTest, Latency) {
  const auto latency = Parsed<PrometheusMetric>(R"(prom:http://h/m#p99.9(x{path="/"}))");
  EXPECT_DOUBLE_EQ(latency.quantile.value(), 0.999);
  EXPECT_EQ(latency.selector.Text(), R"(x_bucket{path="/"})");
  EXPECT_EQ(Parsed<PrometheusMetric>("prom:http://h/m#p50(x_bucket)").selector.name, "x_bucket");
  EXPECT_DOUBLE_EQ(ParseMetric("prom:http://h/m#p50(x)")->Quantile().value(), 0.5);
  EXPECT_FALSE(ParseMetric("prom:http://h/m#x")->Quantile());
  EXPECT_FALSE(ParseMetric("cmd:true")->Quantile());
}

TEST(MetricSpecTest, Json) {
  const auto metric = Parsed<JsonMetric>("http:https://h:1/stats?a=b#stats.tokens[0].total");
  EXPECT_EQ(metric.url.url, "https://h:1/stats?a=b");
  EXPECT_EQ(metric.path.steps.size(), 4u);
  EXPECT_EQ(Parsed<JsonMetric>("http:unix:/run/a.sock:/s#x").url.unix_socket, "/run/a.sock");
}

TEST(MetricSpecTest, Log) {
  const auto lines = Parsed<LogMetric>("log:/var/log/a b.log#done #[0-9]+ (?:ok|fine)");
  EXPECT_EQ(lines.file, "/var/log/a b.log");
  EXPECT_EQ(lines.regex, "done #[0-9]+ (?:ok|fine)");
  EXPECT_EQ(lines.total, LogTotal::kLines);
  EXPECT_EQ(Parsed<LogMetric>("log:a#sum:tokens=(\\d+)").total, LogTotal::kSum);
  EXPECT_EQ(Parsed<LogMetric>("log:a#last:total (\\d+)").total, LogTotal::kLast);
  const auto counted = Parsed<LogMetric>("log:a#count:(ok|fine)");
  EXPECT_EQ(counted.total, LogTotal::kLines);
  EXPECT_EQ(counted.regex, "(ok|fine)");
  EXPECT_EQ(Parsed<LogMetric>("log:a#count:sum:x").regex, "sum:x");
}

TEST(MetricSpecTest, Command) {
  EXPECT_EQ(Parsed<CommandMetric>("cmd:wc -l < 'a#b' | cut -d: -f1").command,
            "wc -l < 'a#b' | cut -d: -f1");
}

struct Mistake {
  std::string text;
  std::string why;      // part of the message
  std::string example;  // another
};

TEST(MetricSpecTest, MistakesInWords) {
  const std::vector<Mistake> mistakes = {
      {"", "a metric begins with", "calls:*:Engine.step"},
      {"requests", "a metric begins with", "cmd:redis-cli"},
      {"Calls:*:f", "a metric begins with", "calls:"},
      {"calls:", "", "calls:*:Engine.step"},
      {"calls:Engine.step", ":", "calls:*:Engine.step"},
      {"calls:*:f @delay=1us", "@delay", "calls:*:Engine.step"},
      {"native:write", "", "native:libfoo.so:foo_step"},
      {"native:libc.so.6:write @delay=1us", "only counted", "native:libfoo.so"},
      {"prom:http://h/m", "a # and a metric's name are missing", "requests_total"},
      {"prom:http://h/m#", "a # and a metric's name are missing", "requests_total"},
      {"prom:#x", "the URL is missing", "requests_total"},
      {"prom:h:8000/m#x", "http:// or https://", "prom:http://127.0.0.1"},
      {"prom:ftp://h/m#x", "http:// or https://", "prom:http://127.0.0.1"},
      {"prom:file:///etc/passwd#x", "http:// or https://", "prom:http://127.0.0.1"},
      {"prom:http://h/m#9x", "a metric's name begins with", "requests_total"},
      {"prom:http://h/m#x{a=1}", "value in double quotes", "path=\"/v1\""},
      {"prom:http://h/m#x{a=~\"1\"}", "value in double quotes", "path=\"/v1\""},
      {"prom:http://h/m#x{a!=\"1\"}", "value in double quotes", "path=\"/v1\""},
      {"prom:http://h/m#x{a=\"1\"", "end in a brace", "path=\"/v1\""},
      {"prom:http://h/m#x{a=\"1}", "not closed", "path=\"/v1\""},
      {"prom:http://h/m#x{a=\"1\",a=\"2\"}", "twice", "path=\"/v1\""},
      {"prom:http://h/m#x{a=\"1\"}[5m]", "\"[5m]\" is not understood", "path=\"/v1\""},
      {"prom:http://h/m#rate(x[5m])", "only a quantile", "p99("},
      {"prom:http://h/m#p0(x)", "only a quantile", "p99("},
      {"prom:http://h/m#p1e-323(x)", "only a quantile", "p99("},
      {"prom:http://h/m#p100(x)", "only a quantile", "p99("},
      {"prom:http://h/m#pnan(x)", "only a quantile", "p99("},
      {"prom:http://h/m#p(x)", "only a quantile", "p99("},
      {"prom:http://h/m#99(x)", "only a quantile", "p99("},
      {"prom:http://h/m#p99(x", "closing )", "p99("},
      {"prom:http://h/m#p99()", "a metric's name begins with", "p99("},
      {"prom:http://h/m#p99(x{le=\"1\"})", "leave the label le out", "p99("},
      {"prom:http://h/m#x_bucket", "write x_count", "p99("},
      {"http://h/stats#a", "follows behind the metric's own http:", "http:http://"},
      {"http:http://h/stats", "the number's path are missing", "http:http://"},
      {"http:http://h/stats#a..b", "an empty key", "stats.tokens[0]"},
      {"http:http://me:secret@h/stats#a", "~/.netrc", "http:http://"},
      {"log:/var/log/a.log", "a regular expression are missing", "log:/var/log/app.log#"},
      {"log:#x", "the file is missing", "log:/var/log/app.log#"},
      {"log:a#sum:", "empty", "log:app.log#sum:"},
      {"log:a#(", "none of RE2's", "log:app.log#sum:"},
      {"log:a#(\\d+)", "sum:REGEX", "log:app.log#sum:"},
      {"log:a#sum:\\d+", "exactly one group", "log:app.log#sum:"},
      {"log:a#last:(a)(b)", "this has 2", "log:app.log#sum:"},
      {"log:a#" + std::string(5000, 'x'), "longer than 4096", "log:app.log#sum:"},
      {"cmd:", "the command is missing", "cmd:redis-cli"},
      {"cmd:  \t", "the command is missing", "cmd:redis-cli"},
      {"cmd:" + std::string(20'000, 'x'), "longer than 16384", ""},
      {"cmd:\xff", "not UTF-8", ""},
      {std::string("cmd:a\0b", 7), "NUL", ""},
  };
  for (const Mistake& mistake : mistakes) {
    const auto spec = ParseMetric(mistake.text);
    ASSERT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << mistake.text;
    const std::string message(spec.status().message());
    EXPECT_THAT(message, HasSubstr(mistake.why)) << mistake.text;
    EXPECT_THAT(message, HasSubstr(mistake.example)) << mistake.text;
    EXPECT_THAT(message, testing::StartsWith("metric \"")) << mistake.text;
    EXPECT_LT(message.size(), 1500u) << mistake.text;
  }
}

TEST(MetricSpecTest, APasswordIsInNoMessage) {
  const auto spec = ParseMetric("prom:http://me:secret@h/m#x");
  EXPECT_THAT(std::string(spec.status().message()), testing::Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace sbump
