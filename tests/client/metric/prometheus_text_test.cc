#include "client/metric/prometheus_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kText = R"(# HELP http_requests_total Requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400"}    3 1395066363000
  http_requests_total { code = "500" , method="a\\b\"c\nd}", } 7

# a comment, and lines that nobody understands
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\""} 1.458255915e9
{"quoted.name", a="b"} 1
!!!
metric_without_timestamp_and_labels 12.47
# TYPE http_request_duration_seconds histogram
http_request_duration_seconds_bucket{le="0.05"} 24054
http_request_duration_seconds_bucket{le="+Inf"} 144320
http_request_duration_seconds_sum 53423
http_request_duration_seconds_count 144320
# TYPE foo counter
foo_total 17.0 1520879607.789 # {id="counter-test"} 5
something_weird{problem="division by zero"} +Inf -3982045
junk{a="b} 1
# EOF
)";

std::vector<std::pair<std::string, double>> Read(std::string_view name,
                                                 std::string_view text = kText) {
  const auto read = ReadPrometheusText(text, name);
  EXPECT_TRUE(read.ok()) << read.status();
  std::vector<std::pair<std::string, double>> all;
  if (read.ok()) {
    for (const Series& series : read->series) all.emplace_back(series.name.Text(), series.value);
  }
  return all;
}

TEST(PrometheusTextTest, Series) {
  using P = std::pair<std::string, double>;
  EXPECT_THAT(Read("http_requests_total"),
              ElementsAre(P(R"(http_requests_total{code="200",method="post"})", 1027),
                          P(R"(http_requests_total{code="400",method="post"})", 3),
                          P(R"(http_requests_total{code="500",method="a\\b\"c\nd}"})", 7)));
  EXPECT_THAT(Read("metric_without_timestamp_and_labels"),
              ElementsAre(P("metric_without_timestamp_and_labels", 12.47)));
  EXPECT_THAT(Read("http_request_duration_seconds_bucket"),
              ElementsAre(P(R"(http_request_duration_seconds_bucket{le="0.05"})", 24054),
                          P(R"(http_request_duration_seconds_bucket{le="+Inf"})", 144320)));
  EXPECT_THAT(Read("foo_total"), ElementsAre(P("foo_total", 17)));
  EXPECT_EQ(Read("something_weird").front().second, INFINITY);
  EXPECT_EQ(Read("msdos_file_access_time_seconds").size(), 1u);
  EXPECT_TRUE(Read("http_requests").empty());
  EXPECT_TRUE(Read("").empty());
  EXPECT_TRUE(Read("x", "").empty());
}

TEST(PrometheusTextTest, Types) {
  EXPECT_EQ(ReadPrometheusText(kText, "http_requests_total")->type, "counter");
  EXPECT_EQ(ReadPrometheusText(kText, "foo_total")->type, "counter");  // as OpenMetrics has it
  EXPECT_EQ(ReadPrometheusText(kText, "something_weird")->type, "");
  EXPECT_EQ(ReadPrometheusText("# TYPE a gauge\r\na 1\r\n", "a")->type, "gauge");
}

TEST(PrometheusTextTest, Values) {
  for (const auto& [word, value] : std::vector<std::pair<std::string, double>>{{"1", 1},
                                                                               {"+1.5", 1.5},
                                                                               {"-2e3", -2000},
                                                                               {"Inf", INFINITY},
                                                                               {"-Inf", -INFINITY},
                                                                               {"1.", 1}})
    EXPECT_EQ(Read("x", "x " + word).front().second, value) << word;
  EXPECT_TRUE(std::isnan(Read("x", "x NaN\n").front().second));
  EXPECT_EQ(Read("x", "x\t4\r\n").front().second, 4);
}

TEST(PrometheusTextTest, LinesOfTheSeriesAreReadStrictly) {
  for (const std::string& line : std::vector<std::string>{
           "x", "x ", "x{} ", "x one", "x 1x", "x +-1", "x 1e999", "x{a} 1", "x{a=} 1", "x{a=b} 1",
           "x{a=\"b\" 1", "x{a=\"b} 1", "x{a=\"b\"", "x{a=\"1\",a=\"1\"} 1", "x{,} 1",
           "x{9=\"1\"} 1", "x{a=\"1\"b=\"2\"} 1", "x-y 1"}) {
    const auto read = ReadPrometheusText("y 1\n" + line + "\n", "x");
    EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << line;
    EXPECT_THAT(read.status().message(), HasSubstr("line 2: ")) << line;
  }
}

TEST(PrometheusTextTest, IsBounded) {
  std::string labels = "x{";
  for (int i = 0; i < 70; ++i) labels += "l" + std::to_string(i) + "=\"v\",";
  EXPECT_THAT(ReadPrometheusText(labels + "} 1", "x").status().message(),
              HasSubstr("more than 64 labels"));
  std::string many;
  for (size_t i = 0; i <= kMostSeries; ++i) many += "x 1\n";
  EXPECT_THAT(ReadPrometheusText(many, "x").status().message(), HasSubstr("more than 100000"));
}

TEST(PrometheusTextTest, ASelectorTakesSeriesWithMoreLabels) {
  const auto name = [](std::string_view text) { return TakeSeriesName(text).value(); };
  const SeriesName series = name(R"(x{a="1",b="2"})");
  EXPECT_TRUE(series.IsTakenBy(name("x")));
  EXPECT_TRUE(series.IsTakenBy(name(R"(x{b="2"})")));
  EXPECT_TRUE(series.IsTakenBy(name(R"(x{b="2",a="1"})")));
  EXPECT_FALSE(series.IsTakenBy(name(R"(x{b="1"})")));
  EXPECT_FALSE(series.IsTakenBy(name(R"(x{c="2"})")));
  EXPECT_FALSE(series.IsTakenBy(name("y")));
}

TEST(PrometheusTextTest, LikeNames) {
  EXPECT_THAT(NamesLike("http_requests", kText), ElementsAre("http_requests_total"));
  EXPECT_THAT(NamesLike("http_request_total", kText), ElementsAre("http_requests_total"));
  EXPECT_THAT(
      NamesLike("http_request_duration_seconds", kText),
      ElementsAre("http_request_duration_seconds_bucket", "http_request_duration_seconds_count",
                  "http_request_duration_seconds_sum"));
  EXPECT_THAT(NamesLike("nothing_like_it", kText), ElementsAre());
}

}  // namespace
}  // namespace sbump
