#include "client/metric/http_getter.h"
#include "client/metric/sources.h"
#include "client/metric/timed_source.h"
#include "daemon/base/status.h"

namespace sbump {
namespace {

class JsonSource : public TimedSource {
 public:
  JsonSource(std::string text, JsonPath path)
      : TimedSource(std::move(text)), path_(std::move(path)) {}

  absl::Status Init(const HttpUrl& url, const MetricLimits& limits) {
    SB_ASSIGN_OR_RETURN(getter_,
                        HttpGetter::Open(url, "application/json", limits.timeout_ns, stop()));
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Reading> Take() override {
    SB_ASSIGN_OR_RETURN(const std::string body, getter_->Get());
    SB_ASSIGN_OR_RETURN(const double value, NumberAt(path_, body));
    return Reading{.value = value, .totals = {{"", value}}};
  }

  const JsonPath path_;
  std::unique_ptr<HttpGetter> getter_;
};

}  // namespace

OpenedSource OpenJsonMetric(const std::string& text, const JsonMetric& metric,
                            const MetricLimits& limits) {
  auto source = std::make_unique<JsonSource>(text, metric.path);
  SB_RETURN_IF_ERROR(source->Init(metric.url, limits));
  return std::unique_ptr<MetricSource>(std::move(source));
}

}  // namespace sbump
