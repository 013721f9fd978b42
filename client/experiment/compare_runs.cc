#include "client/experiment/compare_runs.h"

#include <algorithm>
#include <map>

#include "client/text_table.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/difference.h"
#include "daemon/estimate/stolen_time.h"
#include "daemon/estimate/words.h"
#include "google/protobuf/util/message_differencer.h"

namespace sbump {
namespace {

using google::protobuf::util::MessageDifferencer;

absl::Status Wrong(std::string why) { return absl::InvalidArgumentError(std::move(why)); }

// A group that was tested, the last time where it was several times: not its confirmation.
struct Tested {
  const v1::GroupResult* result = nullptr;
  const v1::TargetSelection* selection = nullptr;  // null: not in what was asked
  double margin = 0;                               // of its experiment; 0: there was none
  uint64_t targets = 0;                            // functions that it took; 0: not known
};

class TestedGroups {
 public:
  explicit TestedGroups(const Report& report) {
    for (const ReportedStage& stage : report.stages) {
      if (!IsConfirmation(stage.recorded) && stage.made.result.invalid().empty()) Take(stage);
    }
  }

  const std::vector<std::string>& names() const { return names_; }  // ranked, as they were tested
  const Tested* Find(const std::string& name) const {
    const auto found = tested_.find(name);
    return found == tested_.end() ? nullptr : &found->second;
  }

 private:
  void Take(const ReportedStage& stage) {
    std::map<std::string, const v1::TargetSelection*> selections;
    for (const v1::TargetGroup& group : stage.recorded.experiment.groups())
      selections[group.name()] = &group.selection();
    std::map<std::string, uint64_t> targets;
    for (const v1::ExperimentPlan::Group& group : stage.recorded.plan->groups())
      targets[group.name()] = group.targets();
    for (const size_t i : stage.ranked) {
      const v1::GroupResult& result = stage.made.result.results(static_cast<int>(i));
      if (result.role() != v1::TESTED || result.blocks() == 0) continue;
      const Tested tested = {.result = &result,
                             .selection = selections[result.name()],
                             .margin = MarginOf(stage),
                             .targets = targets[result.name()]};
      if (tested_.insert_or_assign(result.name(), tested).second) names_.push_back(result.name());
    }
  }

  std::map<std::string, Tested> tested_;
  std::vector<std::string> names_;
};

const v1::Experiment& AskedOf(const Report& report) { return report.stages[0].recorded.experiment; }

// Time per unit without delays, in the first experiment that says anything.
double UnitNs(const Report& report) {
  for (const ReportedStage& stage : report.stages) {
    if (stage.made.estimate.noise.mean_ns > 0) return stage.made.estimate.noise.mean_ns;
  }
  return 0;
}

absl::Status CheckComparable(const Report& first, const Report& second) {
  const v1::WorkMetric &a = AskedOf(first).metric(), &b = AskedOf(second).metric();
  if (MetricWords(a) != MetricWords(b) || a.sampled().quantile() != b.sampled().quantile())
    return Wrong(StrCat("the runs cannot be compared: a unit of work is ", MetricWords(a),
                        " in the first, and ", MetricWords(b),
                        " in the second; measure both by one metric"));
  for (const Report* report : {&first, &second}) {
    if (InvalidOf(*report).empty()) continue;
    return Wrong(StrCat("the runs cannot be compared: the ", report == &first ? "first" : "second",
                        " is invalid: ", InvalidOf(*report)));
  }
  return absl::OkStatus();
}

Estimated EstimatedOf(const v1::GroupResult& result) {
  Estimated estimated = {.estimate = result.criticality()};
  if (result.has_ci_low())
    estimated.interval = Interval{.low = result.ci_low(), .high = result.ci_high()};
  return estimated;
}

// Of `groups` that are compared some are found to differ where none does, unless that is counted.
std::string WordsOf(const Estimated& difference, double margin, size_t groups, size_t blocks) {
  if (!difference.interval) return "too few blocks for an interval of the difference";
  const Interval& interval = *difference.interval;
  const std::string numbers = StrCat(Fixed(difference.estimate, DecimalsOf(margin)),
                                     ", 95 % interval ", Words(interval, DecimalsOf(margin)));
  if (!interval.Contains(0)) {
    const bool is_sure = !AmongSoMany(difference, groups, blocks).Contains(0);
    return StrCat("it ", is_sure ? "matters " : "may matter ", interval.low > 0 ? "more" : "less",
                  " in the second run, by ", numbers,
                  is_sure ? "" : "; but among so many groups that may be chance");
  }
  if (margin > 0 && interval.IsWithin(-margin, margin))
    return StrCat("it matters as much in both, within the margin of ",
                  Fixed(margin, DecimalsOf(margin)), ": ", numbers);
  return StrCat("no difference was found, and none is ruled out: ", numbers);
}

// By the narrower of their margins: each is a share of all that there was to be felt, which may be
// less in one of the runs.
void Compare(const Tested& first, const Tested& second, size_t groups,
             v1::GroupComparison& message) {
  const Estimated difference =
      DifferenceOf(EstimatedOf(*first.result), EstimatedOf(*second.result));
  message.set_name(first.result->name());
  *message.mutable_first() = *first.result;
  *message.mutable_second() = *second.result;
  message.set_difference(difference.estimate);
  if (difference.interval) {
    message.set_difference_low(difference.interval->low);
    message.set_difference_high(difference.interval->high);
  }
  message.set_words(WordsOf(difference, std::min(first.margin, second.margin), groups,
                            std::min(first.result->blocks(), second.result->blocks())));
}

// Of the same patterns, too: what groups before it take is not in it, and more is loaded later.
void WarnOfTargets(const TestedGroups& first, const TestedGroups& second,
                   v1::RunComparison& comparison) {
  for (const v1::GroupComparison& group : comparison.groups()) {
    const Tested &a = *first.Find(group.name()), &b = *second.Find(group.name());
    if (a.selection != nullptr && b.selection != nullptr &&
        !MessageDifferencer::Equals(*a.selection, *b.selection))
      comparison.add_warnings(StrCat(
          ShownName(group.name()), " has other patterns in the second run: it may be other code"));
    if (a.targets != 0 && b.targets != 0 && a.targets != b.targets)
      comparison.add_warnings(StrCat(ShownName(group.name()), " took ", a.targets,
                                     a.targets == 1 ? " function" : " functions",
                                     " in the first run, and ", b.targets, " in the second"));
    const double hits = group.first().hits_per_unit(), later = group.second().hits_per_unit();
    if (hits > 2 * later || later > 2 * hits)
      comparison.add_warnings(StrCat(ShownName(group.name()), " is called ", Fixed(hits, 2),
                                     " times per unit in the first run, and ", Fixed(later, 2),
                                     " times in the second"));
  }
}

void WarnOfRuns(const Report& first, const Report& second, v1::RunComparison& comparison) {
  constexpr double kFar = 1.25;
  const double a = comparison.first_unit_ns(), b = comparison.second_unit_ns();
  if (a > 0 && b > 0 && (a > kFar * b || b > kFar * a))
    comparison.add_warnings(StrCat("a unit takes ", DurationWords(a), " in the first run, and ",
                                   DurationWords(b),
                                   " in the second: criticalities are of another load or program"));
  const double whole = first.stages[0].made.estimate.whole,
               later = second.stages[0].made.estimate.whole;
  if (whole > kFar * later || later > kFar * whole)
    comparison.add_warnings(StrCat("what all of a unit comes to is ", Fixed(whole, 2),
                                   " in the first run, and ", Fixed(later, 2),
                                   " in the second (more or fewer units side by side): "
                                   "criticalities are shares of that"));
  if (AskedOf(first).attach().mode() != AskedOf(second).attach().mode())
    comparison.add_warnings("delays spin in one run, and sleep in the other");
  for (const Report* report : {&first, &second}) {
    const std::string run = report == &first ? "the first run" : "the second run";
    if (report->ranking.partial()) comparison.add_warnings(StrCat(run, " ended early"));
    std::string steal = StolenWarning(report->ranking.steal_share(), StrCat("in ", run));
    if (!steal.empty()) comparison.add_warnings(std::move(steal));
  }
}

void AddGroups(const TestedGroups& first, const TestedGroups& second,
               v1::RunComparison& comparison) {
  const auto groups = static_cast<size_t>(std::ranges::count_if(
      first.names(), [&](const std::string& name) { return second.Find(name) != nullptr; }));
  for (const std::string& name : first.names()) {
    if (const Tested* other = second.Find(name))
      Compare(*first.Find(name), *other, groups, *comparison.add_groups());
    else
      comparison.add_only_first(name);
  }
  for (const std::string& name : second.names()) {
    if (first.Find(name) == nullptr) comparison.add_only_second(name);
  }
}

std::string FiguresOf(const v1::GroupResult& result) {
  std::string text = Fixed(result.criticality(), 2);
  if (result.has_ci_low())
    text += StrCat(" ", Words(Interval{.low = result.ci_low(), .high = result.ci_high()}));
  return text;
}

std::string DifferenceCell(const v1::GroupComparison& group) {
  std::string text = StrCat(group.difference() >= 0 ? "+" : "", Fixed(group.difference(), 2));
  if (group.has_difference_low())
    text += StrCat(" ",
                   Words(Interval{.low = group.difference_low(), .high = group.difference_high()}));
  return text;
}

}  // namespace

absl::StatusOr<v1::RunComparison> CompareRuns(const Report& first, const Report& second) {
  SB_RETURN_IF_ERROR(CheckComparable(first, second));
  const TestedGroups all_first(first), all_second(second);
  v1::RunComparison comparison;
  comparison.set_first_unit_ns(UnitNs(first));
  comparison.set_second_unit_ns(UnitNs(second));
  AddGroups(all_first, all_second, comparison);
  if (comparison.groups().empty())
    return Wrong(
        "the runs cannot be compared: no group of the first is one that the second "
        "measured; groups are the same where their names are (--group NAME=PATTERN)");
  WarnOfTargets(all_first, all_second, comparison);
  WarnOfRuns(first, second, comparison);
  return comparison;
}

std::vector<std::string> ComparisonLines(const v1::RunComparison& comparison,
                                         const Palette& palette, size_t width) {
  TextTable table({{"GROUP", false, Clip::kTail}, {"FIRST"}, {"SECOND"}, {"DIFFERENCE"}});
  for (const v1::GroupComparison& group : comparison.groups())
    table.AddRow({{ShownName(group.name()), Tone::kStrong},
                  {FiguresOf(group.first())},
                  {FiguresOf(group.second())},
                  {DifferenceCell(group)}});
  std::vector<std::string> lines = table.Lines(palette, width);
  lines.push_back(StrCat("a unit takes ", DurationWords(comparison.first_unit_ns()),
                         " in the first run, and ", DurationWords(comparison.second_unit_ns()),
                         " in the second"));
  for (const v1::GroupComparison& group : comparison.groups())
    lines.push_back(StrCat(ShownName(group.name()), ": ", group.words()));
  for (const std::string& name : comparison.only_first())
    lines.push_back(StrCat(ShownName(name), ": only in the first run"));
  for (const std::string& name : comparison.only_second())
    lines.push_back(StrCat(ShownName(name), ": only in the second run"));
  for (const std::string& warning : comparison.warnings())
    lines.push_back(StrCat("warning: ", warning));
  return lines;
}

}  // namespace sbump
