#include "daemon/estimate/controls.h"

#include <algorithm>
#include <string_view>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

std::string PositiveFlaw(const ControlResult& control, double tolerance) {
  if (!control.interval) return StrCat("the positive control ", control.name, " has no interval");
  if (control.interval->high > tolerance || control.interval->low > kLeastFelt) return "";
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
               Fixed(control.estimate, 2), " of itself: units are made side by side",
               control.estimate < tolerance ? ", or most of the time it waits for something else "
                                              "(requests?)"
                                            : "",
               ". That much is the whole here, and the margin is meant as a share of it"));
  } else if (interval.low > 1 + tolerance) {
    findings.warnings.push_back(StrCat("a delay in ", control.name, " costs ",
                                       Fixed(control.estimate, 2),
                                       " times itself: it holds others up (a lock, the GIL, a "
                                       "queue)"));
  }
}

void LookAtNegative(const ControlResult& control, double margin, ControlFindings& findings) {
  if (control.p > kNegativeControlAlpha) return;
  const double negligible = kNegligibleShareOfMargin * margin;
  const bool is_negligible = control.interval && control.interval->low <= negligible &&
                             control.interval->high >= -negligible;
  const std::string what =
      StrCat("the negative control ", control.name, " cannot matter, and seems to (criticality ",
             Fixed(control.estimate, 3), ", p = ", Fixed(control.p, 4),
             "): something other than delays differs between arms");
  if (!is_negligible) {
    if (findings.invalid.empty()) findings.invalid = what;
  } else {
    findings.warnings.push_back(StrCat(what, ", which may be so much of each criticality"));
  }
}

// By the margin that verdicts have.
void LookAtNegatives(const std::vector<ControlResult>& results, double margin,
                     ControlFindings& findings) {
  for (const ControlResult& control : results) {
    if (control.role == GroupRole::kNegativeControl) LookAtNegative(control, margin, findings);
  }
}

// Which group's delays are felt most, for sure.
const ControlResult* FeltMost(const std::vector<ControlResult>& results) {
  const ControlResult* most = nullptr;
  for (const ControlResult& group : results) {
    if (group.role != GroupRole::kTested || !group.interval || group.interval->low <= 0) continue;
    if (most == nullptr || group.interval->low > most->interval->low) most = &group;
  }
  return most;
}

std::string WordsOfFelt(const ControlResult* most) {
  constexpr std::string_view kSideBySide =
      " Where units are made side by side each delay is shared by them, and what all of them wait "
      "for comes to little: a function that each unit passes tells how much (do "
      "without --no-controls, or name one with --positive-control)";
  if (most == nullptr)
    return StrCat("there is no positive control, and no delay was felt: nothing is shown not to ",
                  "matter.", kSideBySide);
  return StrCat("there is no positive control, and the most that was felt of any group is ",
                Fixed(most->estimate, 2), " (", most->name,
                "): nothing else is shown not to matter but by a margin that is a share of that.",
                kSideBySide);
}

}  // namespace

ControlFindings CheckUncontrolled(const std::vector<ControlResult>& results, double tolerance,
                                  double margin) {
  ControlFindings findings;
  const ControlResult* most = FeltMost(results);
  findings.felt = most == nullptr ? 0 : std::min(most->interval->low, 1.0);
  LookAtNegatives(results, margin * findings.felt, findings);
  if (most == nullptr || most->interval->high < 1 - tolerance)
    findings.warnings.push_back(WordsOfFelt(most));
  return findings;
}

ControlFindings CheckControls(const std::vector<ControlResult>& results, double tolerance,
                              double margin) {
  ControlFindings findings;
  for (const ControlResult& control : results) {
    if (control.role != GroupRole::kPositiveControl) continue;
    const std::string flaw = PositiveFlaw(control, tolerance);
    if (findings.invalid.empty()) findings.invalid = flaw;
    if (flaw.empty()) LookAtPositive(control, tolerance, findings);
  }
  LookAtNegatives(results, margin * findings.whole, findings);
  return findings;
}

}  // namespace sbump
