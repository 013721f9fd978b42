#include "client/commands/rank_session.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "client/commands/look_session.h"
#include "client/experiment/ranking.h"
#include "client/human_units.h"
#include "client/json_output.h"
#include "client/printable.h"
#include "client/rank/called_items.h"
#include "client/rank/drill_down.h"
#include "client/rank/group_tree.h"
#include "daemon/base/clock.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr uint64_t kLookNs = 3'000'000'000, kBudgetNs = 900'000'000'000;
// Less time is enough for no experiment.
constexpr uint64_t kLeastExperimentNs = 5'000'000'000;
// Of the budget, for the confirmation; of what is left, for one of several experiments to come.
constexpr double kShareToConfirm = 0.15;
constexpr size_t kMostStagesReckonedWith = 3;
constexpr size_t kMostGroups = 32;
// Of each group. A slope takes no more, and each is a window in every block.
constexpr uint32_t kDoses = 2;

GroupLevel DeepestOf(const RankFlags& flags) {
  if (flags.by_module()) return GroupLevel::kModelModule;
  if (flags.depth == "package") return GroupLevel::kPackage;
  if (flags.depth == "module") return GroupLevel::kModule;
  if (flags.depth == "class") return GroupLevel::kClass;
  return GroupLevel::kFunction;
}

// ---- What is asked ----

// All that there is, where nothing is chosen.
absl::StatusOr<v1::TargetSelection> SelectionToLookAt(const RankFlags& flags,
                                                      const v1::WorkMetric& metric) {
  SelectionFlags selection = flags.selection;
  if (!selection.HasTargets() && flags.by_module()) selection.modules = {"*"};
  if (!selection.HasTargets()) selection.targets = {"*:*"};
  SB_ASSIGN_OR_RETURN(v1::TargetSelection look, BuildSelection(selection));
  // Of the metric's own function the answer is known.
  if (metric.has_calls()) look.add_exclude(metric.calls().pattern());
  return look;
}

// What a group's selection has beside its targets.
v1::TargetSelection Frame(const RankFlags& flags, const v1::TargetSelection& look) {
  v1::TargetSelection frame = look;
  frame.clear_patterns();
  frame.clear_modules();
  frame.clear_exclude();
  for (const std::string& pattern : flags.selection.excludes) frame.add_exclude(pattern);
  frame.set_paths_only(!flags.by_module());
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
         ExperimentSession& session)
      : context_(context),
        flags_(flags),
        base_(std::move(base)),
        session_(session),
        end_ns_(MonotonicNs() + flags.experiment.budget_ns.value_or(kBudgetNs)) {}

  ExitCode Go() {
    if (const ExitCode code = LookAround(); code != ExitCode::kOk) return code;
    DrillDown drill(MakeGroupTree(items_, DeepestOf(flags_)), kMostGroups);
    TestGroups(drill);
    if (declined_) return ExitCode::kOk;
    if (MayGoOn() && !flags_.no_confirmation) Confirm();
    return Tell(drill);
  }

 private:
  ExitCode LookAround() {
    v1::AttachRequest request = base_.attach();
    const absl::StatusOr<v1::TargetSelection> selection = SelectionToLookAt(flags_, base_.metric());
    if (!selection.ok()) return Fail(ExitCode::kBadTargets, ToStd(selection.status().message()));
    *request.mutable_selection() = *selection;
    frame_ = Frame(flags_, *selection);
    request.set_duration_ns(flags_.look_ns.value_or(kLookNs));
    Say(StrCat("looking for ", HumanNs(request.duration_ns()), " at what is called"));
    const Look look = LookAtCalls(session_.client(), session_.stopper(), request);
    if (session_.stopper().is_stopped()) return Fail(ExitCode::kInvalid, "nothing was tested yet");
    if (look.outcome.code != ExitCode::kOk) return Fail(look.outcome.code, look.outcome.message);
    const Width width = flags_.selection.HasTargets() ? Width::kCalled : Width::kAll;
    items_ = flags_.by_module() ? ModuleItems(look.head.targets(), width)
                                : CodeItems(look.head.targets(), width);
    if (items_.empty())
      return Fail(ExitCode::kNoMatch, "nothing but the metric's own function was called");
    Say(StrCat(HumanCount(items_.size()), flags_.by_module() ? " modules" : " functions",
               " are called"));
    return ExitCode::kOk;
  }

  bool MayGoOn() const {
    return failure_.code == ExitCode::kOk && !session_.stopper().is_stopped() &&
           LeftNs() >= kLeastExperimentNs;
  }

  uint64_t LeftNs() const {
    const uint64_t now_ns = MonotonicNs();
    return now_ns >= end_ns_ ? 0 : end_ns_ - now_ns;
  }

  // Of what is left now; the rest is for what is still to come.
  uint64_t BudgetOfStage(const DrillDown& drill) const {
    const double all_ns = static_cast<double>(flags_.experiment.budget_ns.value_or(kBudgetNs));
    const double reserve_ns = flags_.no_confirmation ? 0 : kShareToConfirm * all_ns;
    const double left_ns = static_cast<double>(LeftNs()) - reserve_ns;
    const size_t stages = std::clamp<size_t>(drill.Height(), 1, kMostStagesReckonedWith);
    return static_cast<uint64_t>(std::max(left_ns / static_cast<double>(stages), 1e9));
  }

  void TestGroups(DrillDown& drill) {
    while (!drill.is_done() && MayGoOn()) {
      v1::Experiment experiment = NextExperiment(drill);
      ExperimentEnd end = session_.Run(experiment);
      declined_ = end.declined;
      if (declined_) return;
      if (absl::IsResourceExhausted(end.status) && !end.plan && drill.TakeFewer()) continue;
      TakeEnd(std::move(experiment), end);
      if (end.result) drill.Take(*end.result);
    }
  }

  v1::Experiment NextExperiment(const DrillDown& drill) {
    v1::Experiment experiment = base_;
    experiment.set_asks_first(base_.asks_first() && made_.empty());
    experiment.set_budget_ns(BudgetOfStage(drill));
    experiment.set_doses(kDoses);
    if (base_.seed() != 0) experiment.set_seed(base_.seed() + made_.size());
    for (const DrillDown::Candidate& candidate : drill.Next())
      *experiment.add_groups() =
          GroupOf(candidate.group, candidate.part_of, flags_.by_module(), frame_);
    SayWhatIsTested(experiment);
    return experiment;
  }

  static void SayWhatIsTested(const v1::Experiment& experiment) {
    std::string parents;
    for (const v1::TargetGroup& group : experiment.groups()) {
      if (group.part_of().empty() || parents.find(group.part_of()) != std::string::npos) continue;
      parents += StrCat(parents.empty() ? "" : ", ", Printable(group.part_of()));
    }
    Say(StrCat("testing ", experiment.groups_size(),
               experiment.groups_size() == 1 ? " group" : " groups",
               parents.empty() ? "" : StrCat(": parts of ", parents)));
  }

  void TakeEnd(v1::Experiment experiment, ExperimentEnd& end) {
    failure_ = end.outcome;
    if (!end.result) return;
    if (flags_.experiment.json) {
      v1::RunReply reply;
      *reply.mutable_result() = *end.result;
      session_.standard_output().Write(JsonLine(reply));
    }
    made_.push_back({std::move(experiment), *end.result});
  }

  void Confirm() {
    std::optional<v1::Experiment> experiment = ConfirmationOf(Made());
    if (!experiment) return;
    experiment->set_budget_ns(LeftNs());
    Say(StrCat("confirming ", Printable(experiment->groups(0).name()),
               ", alone and with a fresh seed"));
    ExperimentEnd end = session_.Run(*experiment);
    TakeEnd(*std::move(experiment), end);
  }

  std::vector<MadeExperiment> Made() const {
    std::vector<MadeExperiment> made;
    for (const auto& [asked, result] : made_) made.push_back({&asked, &result});
    return made;
  }

  ExitCode Tell(const DrillDown& drill) {
    if (!made_.empty()) {
      v1::Ranking ranking = RankingOf(Made(), drill.is_done());
      for (const std::string& words : drill.Unspoken()) ranking.add_warnings(words);
      if (!drill.is_done() && failure_.code == ExitCode::kOk && LeftNs() < kLeastExperimentNs)
        ranking.add_warnings("the budget is over: parts of groups that matter were not tested");
      sbump::Tell(context_, flags_.experiment.json, ranking, &session_.standard_output());
      if (failure_.code == ExitCode::kOk && !ranking.invalid().empty())
        failure_ = {ExitCode::kInvalid, ""};
    }
    if (!failure_.message.empty()) return Fail(failure_.code, failure_.message);
    const ExitCode written = session_.CheckWritten();
    return written == ExitCode::kOk ? failure_.code : written;
  }

  const CommandContext& context_;
  const RankFlags& flags_;
  const v1::Experiment base_;  // without groups
  ExperimentSession& session_;
  const uint64_t end_ns_;
  v1::TargetSelection frame_;
  std::vector<CalledItem> items_;
  std::vector<std::pair<v1::Experiment, v1::ExperimentResult>> made_;
  Outcome failure_;
  bool declined_ = false;
};

}  // namespace

ExitCode Rank(const CommandContext& context, const RankFlags& flags, const v1::Experiment& base,
              ExperimentSession& session) {
  return Ranker(context, flags, base, session).Go();
}

}  // namespace sbump
