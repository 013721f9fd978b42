#include "client/commands/rank_session.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "client/commands/look_session.h"
#include "client/experiment/confirmation.h"
#include "client/experiment/ranking.h"
#include "client/experiment/run_file.h"
#include "client/human_units.h"
#include "client/json_output.h"
#include "client/printable.h"
#include "client/rank/called_items.h"
#include "client/rank/drill_down.h"
#include "client/rank/group_tree.h"
#include "client/rank/rank_budget.h"
#include "daemon/base/clock.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/estimate_to_proto.h"

namespace sbump {
namespace {

constexpr size_t kMostGroups = 32;
// Of the look, which a policy's max_ttl judges.
constexpr uint64_t kLongestAttachNs = 60'000'000'000;
// As many as a file holds.
constexpr size_t kMostExperiments = kMostRunStages - 1;
// Each dose is a window in every block, for every group. Two tell whether an effect is straight,
// and a third one where it begins, more exactly: where groups are few there is time for that.
constexpr int kFewGroups = 8;
constexpr uint32_t kDosesOfMany = 2, kDosesOfFew = 3;

GroupLevel DeepestOf(const RankFlags& flags) {
  if (flags.by_module()) return GroupLevel::kModelModule;
  if (flags.depth == "package") return GroupLevel::kPackage;
  if (flags.depth == "module") return GroupLevel::kModule;
  if (flags.depth == "class") return GroupLevel::kClass;
  return GroupLevel::kFunction;
}

// ---- What is asked ----

// Of a file of targets that is for attach, too.
template <typename Target>
void TakeAwayDelay(Target& target) {
  target.clear_delay_ns();
  target.clear_every();
}

std::vector<NamedGroup> NamedGroups(const v1::Experiment& named) {
  std::vector<NamedGroup> groups;
  for (const v1::TargetGroup& group : named.groups()) {
    groups.push_back({.name = group.name(), .patterns = {}});
    for (const v1::TargetPattern& pattern : group.selection().patterns())
      groups.back().patterns.push_back(pattern.pattern());
    for (const v1::ModuleTarget& module : group.selection().modules())
      groups.back().patterns.push_back(module.pattern());
  }
  return groups;
}

// All that there is, where nothing is chosen.
absl::StatusOr<v1::TargetSelection> SelectionToLookAt(const RankFlags& flags,
                                                      const v1::Experiment& base,
                                                      const v1::Experiment& named) {
  SelectionFlags selection = flags.selection;
  const bool is_chosen = selection.HasTargets() || named.groups_size() != 0;
  if (!is_chosen && flags.by_module()) selection.modules = {"*"};
  if (!is_chosen && !flags.by_module()) selection.targets = {"*:*"};
  for (const NamedGroup& group : NamedGroups(named)) {
    std::vector<std::string>& chosen = flags.by_module() ? selection.modules : selection.targets;
    chosen.insert(chosen.end(), group.patterns.begin(), group.patterns.end());
  }
  SB_ASSIGN_OR_RETURN(v1::TargetSelection look, BuildSelection(selection));
  for (v1::TargetPattern& pattern : *look.mutable_patterns()) TakeAwayDelay(pattern);
  for (v1::ModuleTarget& module : *look.mutable_modules()) TakeAwayDelay(module);
  // Of these the answer is known.
  if (base.metric().has_calls()) look.add_exclude(base.metric().calls().pattern());
  for (const v1::TargetGroup& control : base.groups()) {
    for (const v1::TargetPattern& pattern : control.selection().patterns())
      look.add_exclude(pattern.pattern());
  }
  return look;
}

// What a group's selection has beside its targets.
v1::TargetSelection Frame(const RankFlags& flags, const v1::TargetSelection& look) {
  v1::TargetSelection frame = look;
  frame.clear_patterns();
  frame.clear_modules();
  frame.clear_exclude();
  for (const std::string& pattern : flags.selection.excludes) frame.add_exclude(pattern);
  return frame;
}

v1::TargetGroup GroupOf(const GroupNode& node, const std::string& part_of, bool by_module,
                        const v1::TargetSelection& frame) {
  v1::TargetGroup group;
  group.set_name(node.name);
  group.set_part_of(part_of);
  *group.mutable_selection() = frame;
  for (const std::string& pattern : node.patterns) {
    if (by_module)
      group.mutable_selection()->add_modules()->set_pattern(pattern);
    else
      group.mutable_selection()->add_patterns()->set_pattern(pattern);
  }
  return group;
}

// ---- The run ----

class Ranker {
 public:
  Ranker(const CommandContext& context, const RankFlags& flags, v1::Experiment base,
         v1::Experiment named, ExperimentSession& session)
      : context_(context),
        flags_(flags),
        base_(std::move(base)),
        named_(std::move(named)),
        session_(session),
        budget_(MonotonicNs(), flags.BudgetNs(), !flags.no_confirmation) {}

  ExitCode Go() {
    if (const ExitCode code = LookAround(); code != ExitCode::kOk) return code;
    DrillDown drill(MakeGroupTree(items_, DeepestOf(flags_)), kMostGroups);
    while (MayTest(drill)) Test(drill);
    is_complete_ &= drill.is_done();
    if (!drill.is_done() && IsWell())
      notes_.push_back("the budget is over: parts of groups with an effect were not tested");
    if (IsWell() && !flags_.no_confirmation && budget_.HoldsConfirmation(MonotonicNs())) Confirm();
    return Tell(drill);
  }

 private:
  ExitCode LookAround() {
    v1::AttachRequest request = base_.attach();
    const absl::StatusOr<v1::TargetSelection> selection = SelectionToLookAt(flags_, base_, named_);
    if (!selection.ok()) return Fail(ExitCode::kBadTargets, ToStd(selection.status().message()));
    *request.mutable_selection() = *selection;
    frame_ = Frame(flags_, *selection);
    request.set_duration_ns(flags_.LookNs());
    request.set_ttl_ns(flags_.LookNs() + kLongestAttachNs);
    Say(StrCat("looking for ", HumanNs(request.duration_ns()), " at what is called"));
    const CallsSeen seen = LookAtCalls(session_.client(), session_.stopper(), request);
    if (session_.stopper().is_stopped()) return Fail(ExitCode::kInvalid, kNothingYet);
    if (seen.outcome.code != ExitCode::kOk) return Fail(seen.outcome.code, seen.outcome.message);
    const bool is_chosen = flags_.selection.HasTargets() || named_.groups_size() != 0;
    const Width width = is_chosen ? Width::kCalled : Width::kAll;
    items_ = flags_.by_module() ? ModuleItems(seen.head.targets(), width)
                                : CodeItems(seen.head.targets(), width);
    for (const std::string& name : PutIntoGroups(NamedGroups(named_), items_))
      notes_.push_back(StrCat("group ", name, ": nothing of it was called: it was not tested"));
    if (items_.empty())
      return Fail(ExitCode::kNoMatch, "nothing but the metric's own function was called");
    Say(StrCat(HumanCount(items_.size()), flags_.by_module() ? " modules" : " functions",
               " are called"));
    return ExitCode::kOk;
  }

  bool IsWell() const { return failure_.code == ExitCode::kOk && !session_.stopper().is_stopped(); }

  bool MayTest(const DrillDown& drill) const {
    return !drill.is_done() && IsWell() && begun_ < kMostExperiments &&
           budget_.HoldsTest(MonotonicNs());
  }

  void Test(DrillDown& drill) {
    v1::Experiment experiment = NextExperiment(drill);
    ++begun_;
    ExperimentEnd end =
        session_.Run(experiment, StrCat("this is the first of several experiments, which may take ",
                                        HumanNs(budget_.LeftNs(MonotonicNs())),
                                        " in all; the others follow unasked"));
    budget_.Extend(end.asked_ns);
    refusal_ = end.outcome.code == ExitCode::kOk ? "" : end.outcome.message;
    if (IsTooLong(end)) return GiveLess(experiment, drill);
    if (IsNotCalled(end)) return LeaveOut(experiment, drill);
    TakeEnd(std::move(experiment), end);
    if (end.result) drill.Take(*end.result);
  }

  // Of the daemon's limits that is the only one that a pilot comes before, or that an experiment
  // comes to after another one.
  bool IsTooLong(const ExperimentEnd& end) const {
    return end.outcome.code == ExitCode::kLimit && !end.plan && (end.has_pilot || !made_.empty());
  }

  // Parts that are not called while there is work, or not loaded any more: the others may be.
  bool IsNotCalled(const ExperimentEnd& end) const {
    const ExitCode code = end.outcome.code;
    return (code == ExitCode::kPrecondition || code == ExitCode::kNoMatch) && !end.plan &&
           !made_.empty();
  }

  void GiveLess(const v1::Experiment& experiment, DrillDown& drill) {
    if (!drill.TakeFewer()) LeaveOut(experiment, drill);
  }

  void LeaveOut(const v1::Experiment& experiment, DrillDown& drill) {
    notes_.push_back(StrCat(WhatIsTested(experiment), ": ", refusal_));
    is_complete_ = false;
    drill.Skip();
  }

  v1::Experiment NextExperiment(const DrillDown& drill) const {
    v1::Experiment experiment = base_;
    experiment.clear_groups();
    experiment.set_asks_first(base_.asks_first() && made_.empty());
    experiment.set_budget_ns(budget_.OfStageNs(MonotonicNs(), drill.StagesToCome()));
    if (base_.seed() != 0) experiment.set_seed(base_.seed() + made_.size());
    for (const DrillDown::Candidate& candidate : drill.Next())
      *experiment.add_groups() =
          GroupOf(candidate.group, candidate.part_of, flags_.by_module(), frame_);
    experiment.set_doses(experiment.groups_size() > kFewGroups ? kDosesOfMany : kDosesOfFew);
    experiment.mutable_groups()->MergeFrom(base_.groups());
    Say(StrCat("testing ", WhatIsTested(experiment)));
    return experiment;
  }

  // "3 groups: parts of shop, orders".
  static std::string WhatIsTested(const v1::Experiment& experiment) {
    std::set<std::string> parents;
    for (const v1::TargetGroup& group : experiment.groups())
      if (!group.part_of().empty()) parents.insert(Printable(group.part_of()));
    const auto tested = std::ranges::count_if(experiment.groups(), [](const auto& group) {
      return RoleOf(group.role()) == GroupRole::kTested;
    });
    std::string words = StrCat(tested, tested == 1 ? " group" : " groups");
    for (const std::string& parent : parents)
      words += StrCat(parent == *parents.begin() ? ": parts of " : ", ", parent);
    return words;
  }

  void TakeEnd(v1::Experiment experiment, const ExperimentEnd& end) {
    const bool was_stopped_early = session_.stopper().is_stopped() && !end.result;
    if (was_stopped_early) is_complete_ = false;
    if (!was_stopped_early || made_.empty()) failure_ = end.outcome;
    if (!end.result) return;
    if (flags_.experiment.json) {
      v1::RunReply reply;
      *reply.mutable_result() = *end.result;
      session_.standard_output().Write(JsonLine(reply));
    }
    made_.emplace_back(std::move(experiment), end);
  }

  void Confirm() {
    std::optional<v1::Experiment> experiment = ConfirmationOf(Made());
    if (!experiment) return;
    experiment->set_budget_ns(budget_.LeftNs(MonotonicNs()));
    Say(StrCat("confirming ", Printable(experiment->groups(0).name()),
               ", alone and with a fresh seed"));
    ExperimentEnd end = session_.Run(*experiment);
    if (IsTooLong(end)) {
      notes_.push_back(StrCat("there was no time for the confirmation: ", end.outcome.message));
      return;
    }
    TakeEnd(*std::move(experiment), end);
  }

  std::vector<MadeExperiment> Made() const {
    std::vector<MadeExperiment> made;
    for (const auto& [asked, end] : made_) made.push_back(MadeOf(asked, end));
    return made;
  }

  ExitCode Tell(const DrillDown& drill) {
    if (made_.empty()) return TellNothing();
    v1::Ranking ranking = RankingOf(Made(), is_complete_);
    for (const std::string& note : notes_) ranking.add_warnings(note);
    for (const std::string& words : drill.Unspoken()) ranking.add_warnings(words);
    session_.Keep(ranking);
    sbump::Tell(context_, flags_.experiment.json, ranking, &session_.standard_output());
    if (failure_.code != ExitCode::kOk) return Fail(failure_.code, failure_.message);
    if (const ExitCode code = session_.CheckWritten(); code != ExitCode::kOk) return code;
    return ExitOf(ranking);
  }

  ExitCode TellNothing() const {
    if (failure_.code != ExitCode::kOk) return Fail(failure_.code, failure_.message);
    if (session_.stopper().is_stopped()) return Fail(ExitCode::kInvalid, kNothingYet);
    return Fail(ExitCode::kLimit, refusal_.empty() ? std::string(kNothingYet) : refusal_);
  }

  static constexpr std::string_view kNothingYet = "nothing was tested yet";

  const CommandContext& context_;
  const RankFlags& flags_;
  const v1::Experiment base_;   // its groups are controls
  const v1::Experiment named_;  // groups of --group
  ExperimentSession& session_;
  RankBudget budget_;
  v1::TargetSelection frame_;
  std::vector<CalledItem> items_;
  std::vector<std::pair<v1::Experiment, ExperimentEnd>> made_;  // with results
  size_t begun_ = 0;                // also those that were refused: they are in the file, too
  std::vector<std::string> notes_;  // why something was not tested
  std::string refusal_;             // of the last experiment
  Outcome failure_;
  bool is_complete_ = true;
};

}  // namespace

ExitCode Rank(const CommandContext& context, const RankFlags& flags, const v1::Experiment& base,
              const v1::Experiment& named, ExperimentSession& session) {
  return Ranker(context, flags, base, named, session).Go();
}

}  // namespace sbump
