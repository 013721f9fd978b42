#include "client/experiment/experiment_view.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "client/human_units.h"
#include "client/printable.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/estimate_to_proto.h"
#include "daemon/estimate/recording.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

// Of a table: without a space.
std::string ShortPercent(double share) { return Fixed(100 * share, share < 0.0995 ? 1 : 0) + "%"; }

// At most what a uint64_t holds.
std::string HumanNsOf(double ns) {
  return HumanNs(static_cast<uint64_t>(std::clamp(ns, 0.0, 9e18)));
}

std::string PhaseText(v1::ExperimentPhase phase) {
  switch (phase) {
    case v1::PREFLIGHT:
      return "looking for work";
    case v1::PILOT:
      return "pilot";
    case v1::CONFIRMATION:
      return "confirmation";
    default:
      return "experiment";
  }
}

Tone ToneOf(v1::Verdict verdict) {
  switch (verdict) {
    case v1::MATTERS:
      return Tone::kGood;
    case v1::INVALID:
      return Tone::kBad;
    case v1::UNDECIDED:
      return Tone::kWarn;
    default:
      return Tone::kPlain;
  }
}

void Append(const std::vector<std::string>& lines, std::vector<std::string>& to) {
  to.insert(to.end(), lines.begin(), lines.end());
}

void AddWarnings(const google::protobuf::RepeatedPtrField<std::string>& warnings,
                 const std::string& about, std::vector<std::string>& lines) {
  for (const std::string& warning : warnings)
    lines.push_back(StrCat("warning: ", about, Printable(warning)));
}

void AddResult(const v1::GroupResult& result, TextTable& table) {
  const bool is_control = RoleOf(result.role()) != GroupRole::kTested;
  table.AddRow({{StrCat(is_control ? "control: " : "", Printable(result.name()))},
                VerdictCell(result.verdict()),
                {Fixed(result.criticality(), 2)},
                {IntervalText(result)},
                {Fixed(is_control ? result.p() : result.p_adjusted(), 4)},
                {Fixed(result.hits_per_unit(), 2)},
                {HumanNsOf(result.injected_ns_per_unit())},
                {GainText(result)}});
}

std::string SlackLine(const v1::GroupResult& group) {
  return StrCat(Printable(group.name()), ": it has slack: the first ", HumanNsOf(group.slack_ns()),
                " per unit are not felt (", HumanNsOf(group.slack_low_ns()),
                group.has_slack_high_ns() ? " to " + HumanNsOf(group.slack_high_ns()) : " or more",
                ")");
}

}  // namespace

std::string VerdictText(v1::Verdict verdict) {
  switch (verdict) {
    case v1::MATTERS:
      return "MATTERS";
    case v1::DOES_NOT_MATTER:
      return "does not matter";
    case v1::UNDECIDED:
      return "undecided";
    case v1::INVALID:
      return "INVALID";
    default:
      return "?";
  }
}

Cell VerdictCell(v1::Verdict verdict) { return {VerdictText(verdict), ToneOf(verdict)}; }

void AddGainCaveat(const google::protobuf::RepeatedPtrField<v1::GroupResult>& results,
                   std::vector<std::string>& lines) {
  const bool any = std::ranges::any_of(results, [](const v1::GroupResult& group) {
    return group.role() != v1::POSITIVE_CONTROL && group.verdict() == v1::MATTERS;
  });
  if (any)
    lines.push_back(
        "gain at most: that much or less; of two tied branches neither gains anything alone");
}

std::string IntervalText(const v1::GroupResult& result) {
  if (!result.has_ci_low()) return "-";
  return StrCat("[", Fixed(result.ci_low(), 2), ", ", Fixed(result.ci_high(), 2), "]");
}

std::string SeldomText(const v1::GroupResult& result) {
  const uint32_t functions = result.seldom_functions();
  if (functions == 0) return "";
  const bool is_one = functions == 1;
  return StrCat("that is of its calls together; ", functions,
                functions >= kMostSeldom ? " or more" : "",
                is_one ? " of its functions has" : " of its functions have",
                " so few of them that ", is_one ? "it" : "each",
                " could be all that a unit waits for: test ", is_one ? "it" : "them", " apart");
}

std::string GainText(const v1::GroupResult& result) {
  return result.has_most_gain_per_ns() ? StrCat(Fixed(result.most_gain_per_ns(), 2), "x") : "-";
}

std::string DelayWords(const v1::ExperimentPlan& plan, int group) {
  std::set<uint64_t> delays;
  uint32_t every = 1;
  for (const v1::Arm& arm : plan.arms()) {
    if (group < arm.delay_ns_size() && arm.delay_ns(group) != 0) delays.insert(arm.delay_ns(group));
    if (group < arm.every_size()) every = std::max(every, arm.every(group));
  }
  std::string text;
  for (const uint64_t delay_ns : delays)
    text += StrCat(text.empty() ? "" : ", ", HumanNs(delay_ns));
  if (!text.empty() && every > 1) text += StrCat(", at one call of ", HumanCount(every));
  return text;
}

bool HasVerdict(const google::protobuf::RepeatedPtrField<v1::GroupResult>& results) {
  return std::ranges::any_of(results, [](const v1::GroupResult& result) {
    return RoleOf(result.role()) == GroupRole::kTested && result.verdict() != v1::INVALID;
  });
}

std::string IntrusionLine(double share, std::optional<double> low, std::optional<double> high) {
  std::string line =
      StrCat("the probes themselves cost ", ShortPercent(share), " of a unit's time");
  if (low && high) line += StrCat(" (", ShortPercent(*low), " to ", ShortPercent(*high), ")");
  return line;
}

std::vector<std::string> PlanLines(const v1::ExperimentPlan& plan, const Palette& palette,
                                   size_t width) {
  std::vector<std::string> lines = {
      StrCat("plan: ", HumanNs(plan.duration_ns()), " (", plan.blocks(), " blocks of ",
             plan.arms_size(), " arms in random order, windows of ", HumanNs(plan.window_ns()),
             ", ", HumanNs(plan.washout_ns()), " left out after each change; seed ", plan.seed(),
             ")"),
      StrCat("a unit of work takes ", HumanNsOf(plan.unit_ns()), ", and varies by ",
             ShortPercent(plan.variation()), " from window to window"),
      StrCat(
          "expected slowdown meanwhile, if all of it matters: ", ShortPercent(plan.mean_slowdown()),
          " on average, ", ShortPercent(plan.peak_slowdown()), " at most")};
  TextTable table({{"GROUP", false, Clip::kTail}, {"CALLS/UNIT", true}, {"DELAYS"}});
  for (int i = 0; i < plan.groups_size(); ++i) {
    const v1::ExperimentPlan::Group& group = plan.groups(i);
    const std::string what = group.left_out().empty()
                                 ? DelayWords(plan, i)
                                 : "not tested: " + Printable(group.left_out());
    table.AddRow({{Printable(group.name())}, {Fixed(group.hits_per_unit(), 2)}, {what}});
  }
  Append(table.Lines(palette, width), lines);
  AddWarnings(plan.warnings(), "", lines);
  return lines;
}

std::string ProgressLine(const v1::ExperimentProgress& progress, size_t width) {
  std::string line = PhaseText(progress.phase());
  if (progress.windows_in_all() == 0) return ClipTo(line, width, Clip::kTail);
  constexpr size_t kBar = 30;
  const size_t done =
      std::min<size_t>(kBar, kBar * uint64_t{progress.windows_done()} / progress.windows_in_all());
  line += StrCat(" [", std::string(done, '#'), std::string(kBar - done, '.'), "] ",
                 progress.windows_done(), "/", progress.windows_in_all());
  if (progress.remaining_ns() != 0) line += StrCat(", ", HumanNs(progress.remaining_ns()), " left");
  return ClipTo(line, width, Clip::kTail);
}

std::vector<std::string> ResultLines(const v1::ExperimentResult& result, const Palette& palette,
                                     size_t width) {
  std::vector<std::string> lines;
  if (!result.invalid().empty()) lines.push_back(StrCat("INVALID: ", Printable(result.invalid())));
  if (result.partial()) lines.push_back("it ended early: what follows is of the blocks until then");
  TextTable table({{"GROUP", false, Clip::kTail},
                   {"VERDICT"},
                   {"CRITICALITY", true},
                   {"95% INTERVAL", true},
                   {"P", true},
                   {"CALLS/UNIT", true},
                   {"INJECTED/UNIT", true},
                   {"GAIN AT MOST", true}});
  for (const v1::GroupResult& group : result.results()) AddResult(group, table);
  Append(table.Lines(palette, width), lines);
  for (const v1::GroupResult& group : result.results()) {
    if (!group.why().empty())
      lines.push_back(StrCat(Printable(group.name()), ": ", Printable(group.why())));
    if (const std::string seldom = SeldomText(group); !seldom.empty())
      lines.push_back(StrCat("warning: ", Printable(group.name()), ": ", seldom));
    if (group.has_slack_ns()) lines.push_back(SlackLine(group));
    AddWarnings(group.warnings(), StrCat(Printable(group.name()), ": "), lines);
  }
  AddGainCaveat(result.results(), lines);
  for (const v1::PairResult& pair : result.pairs()) lines.push_back(Printable(pair.why()));
  if (result.has_intrusion()) lines.push_back(IntrusionLineOf(result));
  AddWarnings(result.warnings(), "", lines);
  return lines;
}

}  // namespace sbump
