#include "daemon/metrics/exporter.h"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <boost/asio/ip/address.hpp>
#include <charconv>

#include "daemon/base/str_cat.h"
#include "daemon/metrics/families.h"

namespace sbump {
namespace {

// A scrape is one short answer.
constexpr size_t kThreads = 2;

class Collector : public prometheus::Collectable {
 public:
  Collector(const Meters& meters, Gauges gauges) : meters_(meters), gauges_(std::move(gauges)) {}
  std::vector<prometheus::MetricFamily> Collect() const override {
    return FamiliesOf(meters_, gauges_);
  }

 private:
  const Meters& meters_;
  const Gauges gauges_;
};

class HttpExporter : public Exporter {
 public:
  HttpExporter(const std::string& address, const Meters& meters, Gauges gauges)
      : collector_(std::make_shared<Collector>(meters, std::move(gauges))),
        exposer_(address, kThreads) {
    exposer_.RegisterCollectable(collector_);
  }

 private:
  std::shared_ptr<Collector> collector_;
  prometheus::Exposer exposer_;
};

}  // namespace

absl::Status CheckMetricsAddress(const std::string& address, bool any) {
  const absl::Status mistake =
      absl::InvalidArgumentError(StrCat("--metrics ", address, ": give ADDRESS:PORT"));
  const size_t colon = address.rfind(':');
  if (colon == address.npos) return mistake;
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  uint16_t port = 0;
  const char* end = address.data() + address.size();
  const auto [stop, error] = std::from_chars(address.data() + colon + 1, end, port);
  boost::system::error_code unreadable;
  const auto parsed = boost::asio::ip::make_address(host, unreadable);
  if (error != std::errc() || stop != end || unreadable) return mistake;
  if (parsed.is_loopback() || any) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("--metrics ", address,
             ": that is not loopback, and anybody could read it; say --metrics-any if they may"));
}

absl::StatusOr<std::unique_ptr<Exporter>> Exporter::Start(const std::string& address, bool any,
                                                          const Meters& meters, Gauges gauges) {
  SB_RETURN_IF_ERROR(CheckMetricsAddress(address, any));
  try {
    return std::make_unique<HttpExporter>(address, meters, std::move(gauges));
  } catch (const std::exception& error) {
    return absl::UnavailableError(
        StrCat("--metrics ", address, ": cannot listen there (", error.what(), ")"));
  }
}

}  // namespace sbump
