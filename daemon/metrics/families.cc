#include "daemon/metrics/families.h"

#include <unistd.h>

#include <ctime>
#include <fstream>

#include "daemon/base/str_cat.h"
#include "daemon/base/version.h"

namespace sbump {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr double kSecond = 1e-9;  // of a nanosecond
// Buckets of the overshoot that are told: from 64 ns to about 34 ms, each twice as wide.
constexpr uint32_t kFirstBound = 13;
constexpr uint32_t kLastBound = 51;

ClientMetric Value(MetricType type, double value) {
  ClientMetric metric;
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  return metric;
}

MetricFamily Family(const char* name, const char* help, MetricType type, double value) {
  return {name, help, type, {Value(type, value)}};
}

MetricFamily Labelled(const char* name, const char* help, const char* label,
                      const std::map<std::string, uint64_t>& counts) {
  MetricFamily family{name, help, MetricType::Counter, {}};
  for (const auto& [key, count] : counts) {
    ClientMetric metric = Value(MetricType::Counter, static_cast<double>(count));
    metric.label.push_back({label, key});
    family.metric.push_back(std::move(metric));
  }
  return family;
}

MetricFamily OvershootFamily(const SessionSums& sums) {
  ClientMetric metric;
  uint64_t total = 0;
  for (uint32_t i = 0; i < sums.overshoot.size(); ++i) {
    // A bucket of ours ends where the next one begins; two of them make one that is told.
    if (i >= kFirstBound && i <= kLastBound && i % 2 == 1) {
      metric.histogram.bucket.push_back(
          {total, static_cast<double>(sb_overshoot_bucket_start_ns(i)) * kSecond});
    }
    total += sums.overshoot[i];
  }
  metric.histogram.bucket.push_back({total, std::numeric_limits<double>::infinity()});
  metric.histogram.sample_count = total;
  metric.histogram.sample_sum = static_cast<double>(sums.overshoot_ns) * kSecond;
  return {"sbump_overshoot_seconds",
          "Time that delayed calls were held beyond what was asked for.",
          MetricType::Histogram,
          {std::move(metric)}};
}

// 0: this process. Of another one that this has not waited for, so that the number is its own.
double ProcessorSecondsOf(pid_t pid) {
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * kSecond;
}

double ResidentBytesOf(pid_t pid) {
  std::ifstream statm(StrCat("/proc/", pid == 0 ? getpid() : pid, "/statm"));
  uint64_t size = 0, resident = 0;
  statm >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

MetricFamily BuildInfo() {
  MetricFamily family =
      Family("sbump_build_info", "The version of this daemon, as a label.", MetricType::Gauge, 1);
  family.metric[0].label.push_back({"version", kVersion});
  return family;
}

}  // namespace

std::vector<MetricFamily> FamiliesOf(const Meters& meters, const Gauges& gauges) {
  const SessionSums sums = meters.sums();
  const auto counter = [](const char* name, const char* help, double value) {
    return Family(name, help, MetricType::Counter, value);
  };
  const auto gauge = [](const char* name, const char* help, double value) {
    return Family(name, help, MetricType::Gauge, value);
  };
  return {
      BuildInfo(),
      gauge("sbump_sessions", "Sessions now.", static_cast<double>(gauges.sessions())),
      gauge("sbump_connections", "Clients' connections now.",
            static_cast<double>(gauges.connections())),
      counter("sbump_attaches_total", "Sessions that were let begin.",
              static_cast<double>(meters.attaches)),
      Labelled("sbump_session_ends_total", "Sessions that ended, by the kind of reason.", "reason",
               meters.ends()),
      counter("sbump_hits_total", "Calls of matching functions.", static_cast<double>(sums.calls)),
      counter("sbump_delayed_hits_total", "Calls that were delayed.",
              static_cast<double>(sums.delayed_calls)),
      counter("sbump_injected_seconds_total", "Time injected, as measured.",
              static_cast<double>(sums.injected_delay_ns) * kSecond),
      OvershootFamily(sums),
      Labelled("sbump_refusals_total", "Requests that the policy refused, or sessions it ended.",
               "reason", meters.refusals()),
      counter("sbump_tls_failures_total", "TCP connections whose handshake failed.",
              static_cast<double>(meters.tls_failures)),
      counter("sbump_audit_failures_total", "Records that could not be written.",
              static_cast<double>(meters.audit_failures)),
      counter("sbump_policy_reload_failures_total", "Policies that were not taken at a reload.",
              static_cast<double>(meters.policy_reload_failures)),
      counter("process_cpu_seconds_total", "Processor time of the daemon.", ProcessorSecondsOf(0)),
      gauge("process_resident_memory_bytes", "Memory of the daemon.", ResidentBytesOf(0)),
      counter("sbump_links_cpu_seconds_total",
              "Processor time of the daemon's second process, which holds the probes.",
              ProcessorSecondsOf(gauges.keeper)),
      gauge("sbump_links_resident_memory_bytes", "Memory of the daemon's second process.",
            ResidentBytesOf(gauges.keeper)),
  };
}

}  // namespace sbump
