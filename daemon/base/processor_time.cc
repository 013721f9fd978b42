#include "daemon/base/processor_time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <system_error>

namespace sbump {
namespace {

// Their order in proc(5). What guests had is in user and nice, too.
enum Field { kUser, kNice, kSystem, kIdle, kIowait, kIrq, kSoftirq, kSteal, kFields };

std::optional<uint64_t> TakeNumber(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

}  // namespace

ProcessorTime ParseProcessorTime(std::string_view stat) {
  constexpr std::string_view kAll = "cpu ";
  if (!stat.starts_with(kAll)) return {};
  stat.remove_prefix(kAll.size());
  std::array<uint64_t, kFields> ticks{};
  for (uint64_t& field : ticks) {
    const std::optional<uint64_t> number = TakeNumber(stat);
    if (!number) return {};
    field = *number;
  }
  constexpr uint64_t kTickNs = 1'000'000'000 / 100;  // USER_HZ, on x86-64
  ProcessorTime time = {.stolen_ns = ticks[kSteal] * kTickNs};
  for (const Field field : {kUser, kNice, kSystem, kIrq, kSoftirq, kSteal})
    time.wanted_ns += ticks[field] * kTickNs;
  return time;
}

ProcessorTime ReadProcessorTime(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return ParseProcessorTime(line);
}

ProcessorTime Between(const ProcessorTime& before, const ProcessorTime& after) {
  if (before.wanted_ns == 0 || after.wanted_ns <= before.wanted_ns) return {};
  const ProcessorTime time = {
      .wanted_ns = after.wanted_ns - before.wanted_ns,
      .stolen_ns = after.stolen_ns - std::min(before.stolen_ns, after.stolen_ns)};
  return {.wanted_ns = time.wanted_ns, .stolen_ns = std::min(time.stolen_ns, time.wanted_ns)};
}

}  // namespace sbump
