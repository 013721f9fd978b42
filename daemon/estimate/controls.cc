#include "daemon/estimate/controls.h"

#include "daemon/base/str_cat.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

std::string PositiveFlaw(const ControlResult& control, double tolerance) {
  if (!control.interval) return StrCat("the positive control ", control.name, " has no interval");
  const Interval& interval = *control.interval;
  if (interval.low <= 1 + tolerance && interval.high >= 1 - tolerance) return "";
  return StrCat("the positive control ", control.name, " must have a criticality of 1, and has ",
                Words(interval),
                interval.high < 1 ? ": delays do not reach the metric in full, or the load is not "
                                    "saturating"
                                  : ": a delay costs more than itself, in retries or queues");
}

}  // namespace

ControlFindings CheckControls(const std::vector<ControlResult>& results, double tolerance) {
  ControlFindings findings;
  for (const ControlResult& control : results) {
    if (control.role == GroupRole::kPositiveControl) {
      const std::string flaw = PositiveFlaw(control, tolerance);
      if (findings.invalid.empty()) findings.invalid = flaw;
      if (control.interval && control.interval->Contains(0))
        findings.warnings.push_back(StrCat("the positive control ", control.name,
                                           " cannot be told from no effect: too few blocks, or too "
                                           "small a dose, to see anything"));
    }
    if (control.role == GroupRole::kNegativeControl && control.p <= kNegativeControlAlpha &&
        findings.invalid.empty())
      findings.invalid = StrCat("the negative control ", control.name,
                                " cannot matter, and seems to (p = ", Fixed(control.p, 4),
                                "): something other than delays differs between arms");
  }
  return findings;
}

}  // namespace sbump
