#include "daemon/estimate/controls.h"

#include "daemon/base/str_cat.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

std::string PositiveFlaw(const ControlResult& control, double tolerance) {
  if (!control.interval) return StrCat("the positive control ", control.name, " has no interval");
  if (control.interval->high > tolerance) return "";
  return StrCat("the positive control failed: delays in ", control.name,
                ", which every unit passes, are not felt (criticality ", Words(*control.interval),
                "): what waits for requests, or for something slower, hides all delays; load it "
                "fully, or use another metric");
}

void LookAtPositive(const ControlResult& control, double tolerance, ControlFindings& findings) {
  const Interval& interval = *control.interval;
  if (interval.low <= 0) {
    findings.unfelt = control.name;
    findings.warnings.push_back(StrCat("the positive control ", control.name,
                                       " cannot be told from no effect: too few blocks, or too "
                                       "small a dose, to see anything"));
  } else if (interval.high < 1 - tolerance) {
    findings.whole = control.estimate;
    findings.warnings.push_back(
        StrCat("a delay in ", control.name, ", which every unit passes, costs ",
               Fixed(control.estimate, 2),
               " of itself: units are made side by side. That much is the whole here, and the "
               "margin is meant as a share of it"));
  } else if (interval.low > 1 + tolerance) {
    findings.warnings.push_back(StrCat("a delay in ", control.name, " costs ",
                                       Fixed(control.estimate, 2),
                                       " times itself: it holds others up (a lock, the GIL, a "
                                       "queue)"));
  }
}

}  // namespace

ControlFindings CheckControls(const std::vector<ControlResult>& results, double tolerance) {
  ControlFindings findings;
  for (const ControlResult& control : results) {
    if (control.role == GroupRole::kPositiveControl) {
      const std::string flaw = PositiveFlaw(control, tolerance);
      if (findings.invalid.empty()) findings.invalid = flaw;
      if (flaw.empty()) LookAtPositive(control, tolerance, findings);
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
