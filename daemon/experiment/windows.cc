#include "daemon/experiment/windows.h"

#include <algorithm>

namespace sbump {
namespace {

const ProcessMark* Find(const Mark& mark, size_t number) {
  const auto found = std::ranges::find(mark, number, &ProcessMark::number);
  return found == mark.end() ? nullptr : &*found;
}

uint64_t Less(uint64_t after, uint64_t before) { return after - std::min(after, before); }

// From the last unit before the window to the last in it; without those the time in between. Where
// there was none for several windows before it, those have counted their time already. Of units
// that take longer than a window, too, that is a window's time on average, whenever they begin.
uint64_t TimeOf(const ProcessMark& before, const ProcessMark& after) {
  const uint64_t whole_ns = std::max<uint64_t>(Less(after.at_ns, before.at_ns), 1);
  if (before.last_unit_ns == 0 || after.last_unit_ns <= before.last_unit_ns) return whole_ns;
  const uint64_t counted_ns = Less(before.at_ns, before.last_unit_ns) / whole_ns * whole_ns;
  return std::max<uint64_t>(Less(after.last_unit_ns - before.last_unit_ns, counted_ns), 1);
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

// A process that has ended stays as it was then.
uint64_t TakenAt(const Mark& mark) {
  return mark.empty() ? 0 : std::ranges::max(mark, {}, &ProcessMark::at_ns).at_ns;
}

}  // namespace

Window WindowBetween(const Mark& begin, const Mark& end, size_t groups) {
  Window window = {.begin_ns = TakenAt(begin), .end_ns = TakenAt(end)};
  window.groups.resize(groups);
  for (const ProcessMark& after : end) {
    ProcessMark nothing = {.at_ns = std::max(window.begin_ns, after.since_ns)};
    nothing.groups.resize(groups);
    const ProcessMark* before = Find(begin, after.number);
    if (before == nullptr) before = &nothing;
    AddGroups(*before, after, window);
    if (after.units == 0) continue;  // it does other work than the metric's
    window.units += static_cast<double>(Less(after.units, before->units));
    window.work_ns += static_cast<double>(TimeOf(*before, after));
  }
  window.units_in_all = window.units;
  window.stood_still = window.units == 0;
  if (window.stood_still) window.flaw = "no work was done: the metric did not move";
  return window;
}

absl::StatusOr<Window> MeasuredBetween(Specimen& specimen, const Mark& begin, const Mark& end,
                                       size_t groups) {
  Window window = WindowBetween(begin, end, groups);
  SB_RETURN_IF_ERROR(specimen.AddWork(window));
  return window;
}

}  // namespace sbump
