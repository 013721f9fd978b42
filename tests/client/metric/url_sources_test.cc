// prom: and http: against a real server on loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "client/metric/metric_source.h"
#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/window_work.h"
#include "tests/client/metric/http_server.h"

namespace sbump {
namespace {

using test::HttpServer;
using test::Reply;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A service whose reply a test changes as it goes.
class Service {
 public:
  explicit Service(std::string body) : body_(std::move(body)) { Start(0); }

  void Say(std::string body) {
    const std::lock_guard lock(mutex_);
    body_ = std::move(body);
  }
  void Stop() { server_.reset(); }
  // At the same port.
  void Start(uint16_t port) {
    server_ = std::make_unique<HttpServer>(
        [this](const std::string&) {
          const std::lock_guard lock(mutex_);
          return Reply(body_);
        },
        port);
    port_ = server_->port();
  }
  uint16_t port() const { return port_; }

  std::unique_ptr<MetricSource> Open(std::string_view form, std::string_view metric) const {
    const auto spec = ParseMetric(StrCat(form, server_->Url("/m"), "#", metric));
    EXPECT_TRUE(spec.ok()) << spec.status();
    auto source = OpenMetric(*spec);
    EXPECT_TRUE(source.ok()) << source.status();
    return *std::move(source);
  }

 private:
  std::mutex mutex_;
  std::string body_;
  uint16_t port_ = 0;
  std::unique_ptr<HttpServer> server_;
};

TEST(PrometheusSourceTest, OneSeries) {
  Service service("# TYPE a_total counter\na_total{x=\"1\"} 5\na_total{x=\"2\"} 70\nb 1\n");
  const auto source = service.Open("prom:", "a_total{x=\"2\"}");
  const uint64_t before_ns = MonotonicNs();
  const auto sample = source->Read();
  const uint64_t after_ns = MonotonicNs();
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(sample->value, 70);
  EXPECT_GE(sample->at_ns, before_ns);
  EXPECT_LE(sample->at_ns, after_ns);
  EXPECT_GT(sample->took_ns, 0u);
  EXPECT_LE(sample->took_ns, after_ns - before_ns);
  EXPECT_THAT(sample->buckets, IsEmpty());
  EXPECT_THAT(sample->notes, IsEmpty());
}

TEST(PrometheusSourceTest, SeveralSeriesAreAddedUpAndThatIsSaidOnce) {
  Service service("a_total{x=\"1\"} 5\na_total{x=\"2\"} 70\n");
  const auto source = service.Open("prom:", "a_total");
  const auto sample = source->Read();
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(sample->value, 75);
  EXPECT_THAT(sample->notes, ElementsAre("2 series of a_total match and are added up"));
  EXPECT_THAT(source->Read()->notes, IsEmpty());
  // A label that is seen for the first time counts from 0.
  service.Say("a_total{x=\"1\"} 5\na_total{x=\"2\"} 70\na_total{x=\"3\"} 2\n");
  const auto more = source->Read();
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_EQ(more->value, 77);
  EXPECT_EQ(more->epoch, sample->epoch);
}

TEST(PrometheusSourceTest, AGaugeIsSaid) {
  Service service("# TYPE a gauge\na 5\n");
  EXPECT_THAT(service.Open("prom:", "a")->Read()->notes, ElementsAre(HasSubstr("a is a gauge")));
}

// In a pool's sum it could not be seen: the others did more than it had done.
TEST(PrometheusSourceTest, OneWorkerOfAPoolBeginsAgain) {
  Service service("a{w=\"1\"} 100\na{w=\"2\"} 100\n");
  const auto source = service.Open("prom:", "a");
  const auto before = source->Read();
  service.Say("a{w=\"1\"} 500\na{w=\"2\"} 3\n");
  const auto fell = source->Read();
  EXPECT_EQ(fell.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(fell.status().message(), HasSubstr("a{w=\"2\"} fell from 100 to 3"));
  const auto after = source->Read();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->value, 503);
  EXPECT_GT(after->value, before->value);
  const std::vector<MetricSample> samples = {*before, *after};
  EXPECT_EQ(WorkIn(samples, before->at_ns, after->at_ns).status().code(),
            absl::StatusCode::kAborted);
}

TEST(PrometheusSourceTest, SeriesThatVanish) {
  Service service("a{w=\"1\"} 100\na{w=\"2\"} 100\n");
  const auto source = service.Open("prom:", "a");
  EXPECT_TRUE(source->Read().ok());
  service.Say("a{w=\"1\"} 500\n");
  const auto one = source->Read();
  EXPECT_EQ(one.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(one.status().message(), HasSubstr("a{w=\"2\"} is gone"));
  EXPECT_EQ(source->Read()->value, 500);
  service.Say("b 1\n");
  EXPECT_EQ(source->Read().status().code(), absl::StatusCode::kNotFound);
  service.Say("a{w=\"1\"} 600\n");
  EXPECT_EQ(source->Read()->value, 600);
}

TEST(PrometheusSourceTest, ARestartWithItsCountersAtZero) {
  Service service("a 100\n");
  const auto source = service.Open("prom:", "a");
  const auto before = source->Read();
  ASSERT_TRUE(before.ok()) << before.status();
  service.Stop();
  const auto down = source->Read();
  EXPECT_EQ(down.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(down.status().message()), testing::StartsWith(source->text()));
  service.Say("a 2\n");
  service.Start(service.port());
  EXPECT_EQ(source->Read().status().code(), absl::StatusCode::kAborted);
  service.Say("a 3\n");
  const auto again = source->Read();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->value, 3);
  EXPECT_NE(again->epoch, before->epoch);
}

TEST(PrometheusSourceTest, WhatIsNotThere) {
  Service service(
      "req_total{a=\"1\"} 1\nreq_total{a=\"2\"} 1\nlat_bucket{le=\"+Inf\"} 1\nlat_sum 1\n");
  const auto why = [&](std::string_view metric) {
    const auto sample = service.Open("prom:", metric)->Read();
    EXPECT_EQ(sample.status().code(), absl::StatusCode::kNotFound) << metric;
    return std::string(sample.status().message());
  };
  EXPECT_THAT(why("req"), HasSubstr("did you mean req_total?"));
  EXPECT_THAT(why("req_totl"), HasSubstr("did you mean req_total?"));
  EXPECT_THAT(why("req_total{a=\"3\"}"), HasSubstr("there are 2: req_total{a=\"1\"}, req_total"));
  EXPECT_THAT(why("lat"), HasSubstr("p99(lat)"));
  EXPECT_THAT(why("entirely_else"), HasSubstr("begins \"req_total{"));
  service.Say("<!DOCTYPE html>\n<html>");
  EXPECT_THAT(why("req_total"), HasSubstr("begins \"<!DOCTYPE html>"));
}

TEST(PrometheusSourceTest, WhatIsNoTotal) {
  Service service("a NaN\nb +Inf\nc x\nd 1\nd 2\n# TYPE s summary\ns{quantile=\"0.9\"} 1\n");
  for (const auto& [metric, why] :
       std::vector<std::pair<std::string, std::string>>{{"a", "is nan"},
                                                        {"b", "is inf"},
                                                        {"c", "line 3"},
                                                        {"d", "d stands there twice"},
                                                        {"s", "write s_count"}}) {
    const auto sample = service.Open("prom:", metric)->Read();
    EXPECT_EQ(sample.status().code(), absl::StatusCode::kDataLoss) << metric;
    EXPECT_THAT(std::string(sample.status().message()), HasSubstr(why));
  }
}

TEST(PrometheusSourceTest, LatencyFromBucketsOfAPool) {
  const auto body = [](int a, int b, int c) {
    return StrCat("# TYPE l histogram\n",  //
                  "l_bucket{w=\"1\",le=\"0.1\"} ", a, "\nl_bucket{w=\"1\",le=\"0.5\"} ", b,
                  "\nl_bucket{w=\"1\",le=\"+Inf\"} ", c, "\nl_sum 1\n",  //
                  "l_bucket{w=\"2\",le=\"0.1\"} ", a, "\nl_bucket{w=\"2\",le=\"0.50\"} ", b,
                  "\nl_bucket{w=\"2\",le=\"+Inf\"} ", c, "\n");
  };
  Service service(body(10, 20, 20));
  const auto source = service.Open("prom:", "p50(l)");
  const auto before = source->Read();
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->value, 40);
  ASSERT_EQ(before->buckets.size(), 3u);
  EXPECT_EQ(before->buckets[1].upper, 0.5);
  EXPECT_EQ(before->buckets[1].count, 40);
  EXPECT_TRUE(std::isinf(before->buckets[2].upper));
  EXPECT_THAT(before->notes, ElementsAre("2 histograms of l_bucket match and are added up"));
  service.Say(body(10, 30, 30));
  const auto after = source->Read();
  ASSERT_TRUE(after.ok()) << after.status();
  const std::vector<MetricSample> samples = {*before, *after};
  const auto latency = LatencyIn(samples, before->at_ns, after->at_ns, 0.5);
  ASSERT_TRUE(latency.ok()) << latency.status();
  EXPECT_DOUBLE_EQ(latency->value, 0.3);  // all 20 between 0.1 and 0.5
  EXPECT_EQ(latency->observations, 20);
  service.Say(body(1, 2, 3));
  EXPECT_EQ(source->Read().status().code(), absl::StatusCode::kAborted);
}

TEST(PrometheusSourceTest, BucketsThatAreNone) {
  Service service("");
  const auto source = service.Open("prom:", "p50(l)");
  for (const auto& [body, why] : std::vector<std::pair<std::string, std::string>>{
           {"l_bucket{le=\"1\"} 1\n", "no bucket with le=\"+Inf\""},
           {"l_bucket{x=\"1\"} 1\n", "no label le"},
           {"l_bucket{le=\"one\"} 1\n", "le is not a number"},
           {"l_bucket{le=\"NaN\"} 1\n", "le is not a number"},
           {"l_bucket{le=\"-Inf\"} 0\nl_bucket{le=\"+Inf\"} 1\n", "le is not a number above -Inf"},
           {"l_bucket{w=\"1\",le=\"1\"} 1\nl_bucket{w=\"1\",le=\"+Inf\"} 1\n"
            "l_bucket{w=\"2\",le=\"+Inf\"} 1\n",
            "different buckets"}}) {
    service.Say(body);
    const auto sample = source->Read();
    EXPECT_EQ(sample.status().code(), absl::StatusCode::kDataLoss) << body;
    EXPECT_THAT(std::string(sample.status().message()), HasSubstr(why));
  }
}

TEST(JsonSourceTest, ANumberThatRises) {
  Service service(R"({"stats": {"done": [7, 8]}})");
  const auto source = service.Open("http:", "stats.done[1]");
  EXPECT_EQ(source->Read()->value, 8);
  service.Say(R"({"stats": {"done": [7, 9.5]}})");
  EXPECT_EQ(source->Read()->value, 9.5);
  service.Say(R"({"stats": {}})");
  EXPECT_EQ(source->Read().status().code(), absl::StatusCode::kNotFound);
  service.Say("busy");
  EXPECT_EQ(source->Read().status().code(), absl::StatusCode::kDataLoss);
  service.Say(R"({"stats": {"done": [0, 1]}})");
  EXPECT_EQ(source->Read().status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(source->Read()->value, 1);
}

TEST(OpenMetricTest, WhatTheDaemonCountsIsNotRead) {
  for (const std::string& text : std::vector<std::string>{"calls:*:f", "native:libc.so.6:write"}) {
    const auto source = OpenMetric(ParseMetric(text).value());
    EXPECT_EQ(source.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(source.status().message()), HasSubstr("the daemon counts"));
  }
}

}  // namespace
}  // namespace sbump
