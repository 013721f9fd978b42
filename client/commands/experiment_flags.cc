#include "client/commands/experiment_flags.h"

#include <unistd.h>

#include "client/commands/command.h"
#include "client/commands/metric_stream.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {

void AddExperimentFlags(CLI::App* app, ExperimentFlags* flags, const std::string& default_budget) {
  app->add_option("--metric", flags->metric,
                  "what a unit of work is: calls:PATTERN, each call of a Python function; "
                  "native:PATH:SYMBOL, of another function; or what this command reads: "
                  "prom:URL#NAME{LABELS}, prom:URL#p99(NAME), http:URL#JSON.PATH, log:FILE#REGEX, "
                  "cmd:COMMAND (docs/metrics-of-work.md)")
      ->type_name("METRIC")
      ->required();
  AddDuration(app, "--budget", &flags->budget_ns, StrCat("take no longer, ", default_budget));
  app->add_option("--mde", flags->smallest_effect,
                  "find effects on throughput of this many percent, 4 times out of 5, and take no "
                  "longer than that takes (default: what verdicts with --margin take)")
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
  app->add_option("--lowest-throughput", flags->lowest_throughput,
                  "end where the throughput stays below this many percent of the undelayed one "
                  "(default: 30)")
      ->transform(WithoutPercentSign)
      ->type_name("PERCENT");
  AddDuration(app, "--max-delay", &flags->max_delay_ns,
              "delay no call for longer (default: 10ms, with --mode sleep 10s)");
  app->add_option("--seed", flags->seed, "of all that is drawn at random (default: a new one)")
      ->type_name("N");
  app->add_flag("--no-controls", flags->no_controls,
                "do not also delay the metric's own function, of which the answer is known");
  app->add_flag("-y,--yes", flags->yes, "do not ask whether the plan is wanted");
  AddFormat(app, &flags->json);
  app->add_option("-o,--output", flags->output, "keep all of it in this file (.sbump)")
      ->type_name("FILE");
}

absl::Status TakeExperimentFlags(const ExperimentFlags& flags, v1::Experiment* experiment) {
  SB_RETURN_IF_ERROR(TakeMetric(flags.metric, experiment->mutable_metric()));
  experiment->set_budget_ns(flags.budget_ns.value_or(0));
  experiment->set_smallest_effect(flags.smallest_effect / 100);
  experiment->set_margin(flags.margin);
  experiment->set_top_share(flags.top_share / 100);
  experiment->set_lowest_throughput(flags.lowest_throughput / 100);
  experiment->set_max_delay_ns(flags.max_delay_ns.value_or(0));
  experiment->set_seed(flags.seed);
  experiment->set_no_controls(flags.no_controls);
  experiment->set_asks_first(!flags.yes);
  if (!flags.yes && !IsTerminal(STDIN_FILENO)) {
    return absl::InvalidArgumentError(
        "the plan is shown before the experiment, and there is nobody to ask: give --yes");
  }
  return absl::OkStatus();
}

}  // namespace sbump
