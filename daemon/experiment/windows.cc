#include "daemon/experiment/windows.h"

#include <algorithm>

namespace sbump {
namespace {

const ProcessMark* Find(const Mark& mark, size_t number) {
  const auto found = std::ranges::find(mark, number, &ProcessMark::number);
  return found == mark.end() ? nullptr : &*found;
}

uint64_t Less(uint64_t after, uint64_t before) { return after - std::min(after, before); }

// Units a nanosecond.
double RateOf(const ProcessMark& before, const ProcessMark& after, uint64_t units) {
  const bool is_timed = before.last_unit_ns != 0 && after.last_unit_ns > before.last_unit_ns;
  const uint64_t took_ns = is_timed ? after.last_unit_ns - before.last_unit_ns
                                    : std::max<uint64_t>(Less(after.at_ns, before.at_ns), 1);
  return static_cast<double>(units) / static_cast<double>(took_ns);
}

void AddGroups(const ProcessMark& before, const ProcessMark& after, Window& window) {
  for (size_t group = 0; group < window.groups.size(); ++group) {
    GroupFigures& sum = window.groups[group];
    const GroupFigures& then = before.groups[group];
    const GroupFigures& now = after.groups[group];
    sum.hits += Less(now.hits, then.hits);
    sum.delayed_hits += Less(now.delayed_hits, then.delayed_hits);
    sum.injected_ns += Less(now.injected_ns, then.injected_ns);
  }
}

uint64_t Earliest(const Mark& mark) {
  return mark.empty() ? 0 : std::ranges::min(mark, {}, &ProcessMark::at_ns).at_ns;
}

}  // namespace

Window WindowBetween(const Mark& begin, const Mark& end, size_t groups) {
  Window window = {.begin_ns = Earliest(begin), .end_ns = Earliest(end)};
  window.groups.resize(groups);
  double rate = 0;
  for (const ProcessMark& after : end) {
    ProcessMark nothing = {.at_ns = window.begin_ns};
    nothing.groups.resize(groups);
    const ProcessMark* before = Find(begin, after.number);
    if (before == nullptr) before = &nothing;
    const uint64_t units = Less(after.units, before->units);
    window.units += static_cast<double>(units);
    rate += RateOf(*before, after, units);
    AddGroups(*before, after, window);
  }
  window.units_in_all = window.units;
  if (window.units > 0) {
    window.work_ns = window.units / rate;
  } else {
    window.flaw = "no work was done: the metric did not move";
  }
  return window;
}

}  // namespace sbump
