#include "client/commands/experiment_flags.h"

#include <unistd.h>

#include <random>

#include "absl/strings/str_join.h"
#include "client/commands/command.h"
#include "client/commands/metric_stream.h"
#include "client/limits.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

absl::Status AddControl(std::string_view flag, const std::vector<std::string>& patterns,
                        v1::GroupRole role, v1::Experiment* experiment) {
  if (patterns.empty()) return absl::OkStatus();
  SelectionFlags selection;
  selection.targets = patterns;
  absl::StatusOr<v1::TargetSelection> built = BuildSelection(selection);
  if (!built.ok()) return Annotate(built.status(), flag);
  v1::TargetGroup& group = *experiment->add_groups();
  group.set_name(absl::StrJoin(patterns, ", "));
  group.set_role(role);
  *group.mutable_selection() = *std::move(built);
  return absl::OkStatus();
}

constexpr size_t kLongestGroupName = 64;

v1::TargetGroup& GroupNamed(const std::string& name, v1::Experiment* experiment) {
  for (v1::TargetGroup& group : *experiment->mutable_groups())
    if (group.name() == name) return group;
  v1::TargetGroup& group = *experiment->add_groups();
  group.set_name(name);
  return group;
}

absl::Status CheckWithin(std::string_view flag, const std::optional<double>& value, double lowest,
                         double highest, std::string_view unit) {
  if (!value || (*value >= lowest && *value <= highest)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(flag, " ", *value, unit, ": it must be from ", lowest, " to ", highest, unit));
}

absl::Status CheckTime(std::string_view flag, const std::optional<uint64_t>& time_ns,
                       uint64_t longest_ns) {
  if (time_ns.value_or(1) == 0)  // in the message that is the default
    return absl::InvalidArgumentError(StrCat(flag, " 0: it must be above 0"));
  if (time_ns.value_or(0) <= longest_ns) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(flag, " ", FormatDuration(*time_ns), ": the longest is ", FormatDuration(longest_ns)));
}

absl::Status CheckRanges(const ExperimentFlags& flags, uint64_t longest_delay_ns) {
  absl::Status status = CheckTime("--budget", flags.budget_ns, kLongestBudgetNs);
  status.Update(CheckWithin("--mde", flags.smallest_effect, 0.1, 100, "%"));
  status.Update(CheckWithin("--margin", flags.margin, 0.001, 10, ""));
  status.Update(CheckWithin("--top-share", flags.top_share, 0.1, 100, "%"));
  status.Update(CheckWithin("--lowest-throughput", flags.lowest_throughput, 1, 100, "%"));
  if (flags.max_delay_ns == 0) status.Update(CheckTime("--max-delay", flags.max_delay_ns, 0));
  const uint64_t delay_ns = flags.max_delay_ns.value_or(0);
  status.Update(
      CheckDelay(StrCat("--max-delay ", FormatDuration(delay_ns)), delay_ns, longest_delay_ns));
  return status;
}

}  // namespace

absl::Status AddNamedGroup(const GroupFlag& flag, const std::string& text,
                           const SelectionFlags& beside, v1::Experiment* experiment) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
    return absl::InvalidArgumentError(
        StrCat(flag.name, " \"", text, "\": write NAME=PATTERN, as in ", flag.example));
  }
  const std::string name = text.substr(0, equals);
  if (name.size() > kLongestGroupName) {
    return absl::InvalidArgumentError(
        StrCat(flag.name, ": a NAME of more than ", kLongestGroupName, " bytes"));
  }
  SelectionFlags one{.excludes = beside.excludes, .paths_only = beside.paths_only};
  if (flag.patterns == &SelectionFlags::modules) {
    one.module_excludes = beside.module_excludes;
    one.module_root = beside.module_root;
    one.module_prefix = beside.module_prefix;
    one.callables = beside.callables;
  }
  one.*flag.patterns = {text.substr(equals + 1)};
  absl::StatusOr<v1::TargetSelection> selection = BuildSelection(one);
  if (!selection.ok()) return Annotate(selection.status(), StrCat(flag.name, " ", name));
  GroupNamed(name, experiment).mutable_selection()->MergeFrom(*selection);
  return absl::OkStatus();
}

void AddExperimentFlags(CLI::App* app, ExperimentFlags* flags, const std::string& default_budget) {
  app->add_option("--metric", flags->metric,
                  "what a unit of work is: calls:PATTERN, each call of a Python function; "
                  "native:PATH:SYMBOL, of another function; or what this command reads: "
                  "prom:URL#NAME{LABELS}, prom:URL#p99(NAME), http:URL#JSON.PATH, log:FILE#REGEX, "
                  "cmd:COMMAND (docs/metrics-of-work.md)")
      ->type_name("METRIC")
      ->required();
  AddDuration(app, "--budget", &flags->budget_ns, StrCat("take no longer, ", default_budget));
  app->add_option(
         "--mde", flags->smallest_effect,
         "find effects on throughput of this many percent, so that 4 times out of 5 they are "
         "said to matter, and take no longer than that takes (default: what verdicts with "
         "--margin take)")
      ->transform(WithoutPercentSign)
      ->type_name("PERCENT");
  app->add_option("--margin", flags->margin,
                  "a criticality from -MARGIN to MARGIN does not matter (default: 0.05)")
      ->type_name("MARGIN");
  app->add_option("--top-share", flags->top_share,
                  "inject up to this many percent of a unit's time; the more, the sooner an answer "
                  "(default: 10)")
      ->transform(WithoutPercentSign)
      ->type_name("PERCENT");
  app->add_option(
         "--lowest-throughput", flags->lowest_throughput,
         "end where the throughput stays below this many percent of the undelayed one, or a "
         "latency beyond the inverse (default: 30, so 3.3 times as long)")
      ->transform(WithoutPercentSign)
      ->type_name("PERCENT");
  AddDuration(app, "--max-delay", &flags->max_delay_ns,
              "delay no call for longer (default: 10ms, with --mode sleep 10s)");
  app->add_option("--seed", flags->seed, "of all that is drawn at random (default: a new one)")
      ->type_name("N");
  app->add_flag("--no-controls", flags->no_controls,
                "do not also delay the metric's own function, of which the answer is known");
  AddRepeated(app, "--positive-control", &flags->positives,
              "functions that each unit passes, of a metric that this command reads: where their "
              "delays are not felt, the whole experiment is INVALID; repeatable")
      ->type_name("PATTERN");
  AddRepeated(app, "--negative-control", &flags->negatives,
              "functions that cannot matter, as nobody waits for them: where they seem to, the "
              "whole experiment is INVALID; repeatable")
      ->type_name("PATTERN");
  app->add_flag("-y,--yes", flags->yes, "do not ask whether the plan is wanted");
  AddFormat(app, &flags->json);
  app->add_option("-o,--output", flags->output, "keep all of it in this file (.sbump)")
      ->type_name("FILE");
}

absl::Status AddControls(const ExperimentFlags& flags, v1::Experiment* experiment) {
  SB_RETURN_IF_ERROR(
      AddControl("--positive-control", flags.positives, v1::POSITIVE_CONTROL, experiment));
  return AddControl("--negative-control", flags.negatives, v1::NEGATIVE_CONTROL, experiment);
}

absl::Status TakeExperimentFlags(const ExperimentFlags& flags, uint64_t longest_delay_ns,
                                 v1::Experiment* experiment) {
  SB_RETURN_IF_ERROR(CheckRanges(flags, longest_delay_ns));
  if (flags.output == "-")
    return absl::InvalidArgumentError(
        "--output -: a run is kept in a file; the answer is on standard output");
  if (flags.no_controls && !flags.positives.empty())
    return absl::InvalidArgumentError("--no-controls and --positive-control exclude each other");
  SB_RETURN_IF_ERROR(TakeMetric(flags.metric, experiment->mutable_metric()));
  experiment->set_budget_ns(flags.budget_ns.value_or(0));
  experiment->set_smallest_effect(flags.smallest_effect.value_or(0) / 100);
  experiment->set_margin(flags.margin.value_or(0));
  experiment->set_top_share(flags.top_share.value_or(0) / 100);
  experiment->set_lowest_throughput(flags.lowest_throughput.value_or(0) / 100);
  experiment->set_max_delay_ns(flags.max_delay_ns.value_or(0));
  // Drawn here: of several experiments each has its own from the first one's.
  experiment->set_seed(flags.seed == 0 ? std::random_device{}() + 1ull : flags.seed);
  experiment->set_no_controls(flags.no_controls);
  experiment->set_asks_first(!flags.yes);
  if (!flags.yes && !IsTerminal(STDIN_FILENO)) {
    return absl::InvalidArgumentError(
        "the plan is shown before the experiment, and there is nobody to ask: give --yes");
  }
  return absl::OkStatus();
}

}  // namespace sbump
