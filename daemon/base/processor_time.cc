#include "daemon/base/processor_time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>

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
  ProcessorTime time = {.stolen = ticks[kSteal]};
  for (const Field field : {kUser, kNice, kSystem, kIrq, kSoftirq, kSteal})
    time.wanted += ticks[field];
  return time;
}

ProcessorTime ReadProcessorTime(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return ParseProcessorTime(line);
}

// The kernel's counters may go back by a tick.
double StolenShare(const ProcessorTime& before, const ProcessorTime& after) {
  const bool is_told = before.wanted > 0 && after.wanted > before.wanted;
  if (!is_told || after.stolen <= before.stolen) return 0;
  return std::min(1.0, static_cast<double>(after.stolen - before.stolen) /
                           static_cast<double>(after.wanted - before.wanted));
}

}  // namespace sbump
