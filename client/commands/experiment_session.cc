#include "client/commands/experiment_session.h"

#include <unistd.h>

#include <iostream>
#include <mutex>
#include <utility>

#include "client/experiment/experiment_view.h"
#include "client/experiment/run_file.h"
#include "client/experiment/run_header.h"
#include "client/interrupt.h"
#include "client/json_output.h"
#include "client/metric/metric_sampler.h"
#include "client/metric/metric_source.h"
#include "client/metric/metric_spec.h"
#include "client/output_file.h"
#include "client/printable.h"
#include "client/proof_text.h"
#include "client/session_outcome.h"
#include "client/update_merger.h"
#include "daemon/base/clock.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// ---- Flags ----

// Of a latency: how many ns one of its histogram's units is; of anything else 1. Prometheus has the
// unit in the name, and seconds as the rule.
absl::StatusOr<double> NsOfUnit(const MetricSpec& spec) {
  const auto* metric = std::get_if<PrometheusMetric>(&spec.what);
  if (metric == nullptr || !metric->quantile) return 1;
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"_seconds_bucket", 1e9}, {"_milliseconds_bucket", 1e6},
      {"_ms_bucket", 1e6},      {"_microseconds_bucket", 1e3},
      {"_us_bucket", 1e3},      {"_nanoseconds_bucket", 1},
      {"_ns_bucket", 1}};
  for (const auto& [ending, ns] : kUnits) {
    if (metric->selector.name.ends_with(ending)) return ns;
  }
  return absl::InvalidArgumentError(
      StrCat("--metric ", spec.text, ": the unit of the histogram is not in its name (_seconds, ",
             "_milliseconds, ...): which it is cannot be told"));
}

absl::Status TakeMetric(const std::string& text, v1::WorkMetric& metric) {
  SB_ASSIGN_OR_RETURN(const MetricSpec spec, ParseMetric(text));
  if (const auto* calls = std::get_if<CallsMetric>(&spec.what)) {
    metric.mutable_calls()->set_pattern(calls->pattern);
  } else if (const auto* native = std::get_if<NativeMetric>(&spec.what)) {
    metric.mutable_native()->set_target(native->pattern);
  } else {
    metric.mutable_sampled()->set_text(spec.text);
    metric.mutable_sampled()->set_quantile(spec.Quantile().value_or(0));
    SB_RETURN_IF_ERROR(NsOfUnit(spec).status());
  }
  return absl::OkStatus();
}

// ---- The run ----

// Writes come from the reader's thread and from the one that hears of Ctrl-C.
class Requests {
 public:
  explicit Requests(ExperimentStream* stream) : stream_(stream) {}

  bool Send(const v1::RunRequest& request) {
    std::lock_guard lock(mutex_);
    return stream_->Write(request);
  }
  void Stop() {
    v1::RunRequest request;
    request.mutable_stop();
    Send(request);
  }
  void AnswerClock(const v1::ClockQuestion& question) {
    v1::RunRequest request;
    request.mutable_clock()->set_question(question.question());
    request.mutable_clock()->set_received_ns(MonotonicNs());
    Send(request);
  }
  void Approve(bool go) {
    v1::RunRequest request;
    request.mutable_approval()->set_go(go);
    Send(request);
  }

 private:
  std::mutex mutex_;
  ExperimentStream* stream_;
};

// ---- A metric that is read here ----

constexpr uint64_t kSampleEveryNs = 50'000'000;

v1::RunRequest ToRequest(const MetricSample& sample, double ns_of_unit) {
  v1::RunRequest request;
  v1::MetricSamples::Sample& message = *request.mutable_samples()->add_samples();
  message.set_at_ns(sample.at_ns);
  message.set_value(sample.value);
  message.set_epoch(sample.epoch);
  for (const MetricBucket& from : sample.buckets) {
    v1::MetricSamples::Bucket& bucket = *message.add_buckets();
    bucket.set_upper_ns(from.upper * ns_of_unit);
    bucket.set_count(from.count);
  }
  return request;
}

// Null where the daemon counts.
absl::StatusOr<std::unique_ptr<MetricSampler>> StartSampling(const std::string& text,
                                                             Requests* requests) {
  SB_ASSIGN_OR_RETURN(const MetricSpec spec, ParseMetric(text));
  if (spec.IsCountedByDaemon()) return nullptr;
  SB_ASSIGN_OR_RETURN(const double ns_of_unit, NsOfUnit(spec));
  SB_ASSIGN_OR_RETURN(std::unique_ptr<MetricSource> source, OpenMetric(spec));
  return std::make_unique<MetricSampler>(
      std::move(source), kSampleEveryNs,
      [requests, ns_of_unit](const absl::StatusOr<MetricSample>& read) {
        if (read.ok()) {
          for (const std::string& note : read->notes) Say(StrCat("note: ", Printable(note)));
          requests->Send(ToRequest(*read, ns_of_unit));
          return;
        }
        v1::RunRequest failed;
        failed.mutable_samples()->set_failure(std::string(ToStd(read.status().message())));
        requests->Send(failed);
      });
}

// A line on a terminal's standard error that is written over again and again.
class ProgressBar {
 public:
  void Show(const v1::ExperimentProgress& progress) {
    if (!IsTerminal(STDERR_FILENO)) return;
    Write(StrCat("\r", ProgressLine(progress, SizeOf(STDERR_FILENO).columns - 1), "\x1b[K"));
    is_shown_ = true;
  }
  void Erase() {
    if (std::exchange(is_shown_, false)) Write("\r\x1b[K");
  }

 private:
  static void Write(const std::string& text) {
    (void)!write(STDERR_FILENO, text.data(), text.size());
  }
  bool is_shown_ = false;
};

bool AskOnTerminal() {
  std::cerr << "Go on? [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

class Follower {
 public:
  Follower(const CommandContext& context, const ExperimentFlags& flags, Requests* requests,
           OutputFile* file, RunFileWriter* kept)
      : context_(context), flags_(flags), requests_(requests), file_(file), kept_(kept) {}

  void Take(const v1::RunReply& reply) {
    if (kept_ != nullptr && !reply.has_clock()) kept_->Write(reply);
    switch (reply.what_case()) {
      case v1::RunReply::kSession:
        return TakeUpdate(reply.session());
      case v1::RunReply::kPlan:
        return TakePlan(reply);
      case v1::RunReply::kWindow:
        if (flags_.json) file_->Write(JsonLine(reply));
        return;
      case v1::RunReply::kProgress:
        return bar_.Show(reply.progress());
      case v1::RunReply::kResult:
        result_ = reply.result();
        return;
      case v1::RunReply::kClock:
        return requests_->AnswerClock(reply.clock());
      case v1::RunReply::WHAT_NOT_SET:
        return;
    }
  }

  // `status` of the call.
  ExitCode Finish(const absl::Status& status) {
    bar_.Erase();
    if (result_) Tell(*result_);
    if (const Outcome outcome = OfSession(); outcome.code != ExitCode::kOk)
      return Fail(outcome.code, outcome.message);
    if (declined_) return ExitCode::kOk;
    if (status.message().find("guardrail: ") == 0)
      return Fail(ExitCode::kGuardrail, Printable(ToStd(status.message())));
    if (!status.ok()) return Fail(status, Subject::kProcess);
    if (!result_)
      return Fail(ExitCode::kError, "the daemon ended the experiment without an answer");
    if (file_->failed()) return Fail(ExitCode::kError, file_->Trouble());
    if (kept_ != nullptr && kept_->failed()) return Fail(ExitCode::kError, kept_->Trouble());
    return result_->invalid().empty() ? ExitCode::kOk : ExitCode::kInvalid;
  }

 private:
  // Where it ended by itself, or badly.
  Outcome OfSession() const {
    if (!end_) return {};
    v1::SessionUpdate head = *end_;
    if (head.end().reason().starts_with("experiment over") ||
        head.end().reason().starts_with("stopped by its client"))
      head.mutable_end()->set_reason("detached");
    head.clear_patterns();  // what was called is in the answer
    head.mutable_end()->clear_no_match();
    return AttachOutcome(head, {});
  }

  void TakeUpdate(const v1::SessionUpdate& piece) {
    auto update = merger_.Add(piece);
    if (!update) return;
    for (const std::string& warning : update->warnings())
      Say(StrCat("warning: ", Printable(warning)));
    if (update->has_end()) end_ = std::move(update);
  }

  void TakePlan(const v1::RunReply& reply) {
    bar_.Erase();
    if (flags_.json) file_->Write(JsonLine(reply));
    const Palette palette = PaletteFor(context_, STDERR_FILENO);
    const size_t width =
        IsTerminal(STDERR_FILENO) ? SizeOf(STDERR_FILENO).columns : kUnlimitedWidth;
    for (const std::string& line : PlanLines(reply.plan(), palette, width))
      std::cerr << line << "\n";
    if (flags_.yes) return;
    declined_ = !AskOnTerminal();
    requests_->Approve(!declined_);
  }

  void Tell(const v1::ExperimentResult& result) {
    if (flags_.json) {
      file_->Write(JsonLine(result));
      return;
    }
    const Palette palette = PaletteFor(context_, file_->fd());
    const size_t width = IsTerminal(file_->fd()) ? SizeOf(file_->fd()).columns : kUnlimitedWidth;
    for (const std::string& line : ResultLines(result, palette, width)) file_->Write(line + "\n");
  }

  const CommandContext& context_;
  const ExperimentFlags& flags_;
  Requests* requests_;
  OutputFile* file_;
  RunFileWriter* kept_;  // null: none
  ProgressBar bar_;
  UpdateMerger merger_;
  std::optional<v1::SessionUpdate> end_;
  std::optional<v1::ExperimentResult> result_;
  bool declined_ = false;
};

}  // namespace

void AddExperimentFlags(CLI::App* app, ExperimentFlags* flags) {
  app->add_option("--metric", flags->metric,
                  "what a unit of work is: calls:PATTERN, each call of a Python function; "
                  "native:PATH:SYMBOL, of another function; or what this command reads: "
                  "prom:URL#NAME{LABELS}, prom:URL#p99(NAME), http:URL#JSON.PATH, log:FILE#REGEX, "
                  "cmd:COMMAND (docs/metrics-of-work.md)")
      ->type_name("METRIC")
      ->required();
  AddDuration(app, "--budget", &flags->budget_ns,
              "take no longer; without --mde as exact as that allows (default: what --margin and "
              "--mde take, at most 10m)");
  app->add_option("--mde", flags->smallest_effect,
                  "find effects on throughput of this many percent (default: 3)")
      ->type_name("PERCENT");
  app->add_option("--margin", flags->margin,
                  "a criticality from -MARGIN to MARGIN does not matter (default: 0.05)")
      ->type_name("MARGIN");
  app->add_option("--top-share", flags->top_share,
                  "inject up to this many percent of a unit's time; the more, the sooner an answer "
                  "(default: 10)")
      ->type_name("PERCENT");
  AddDuration(app, "--max-delay", &flags->max_delay_ns,
              "delay no call for longer (default: 10ms, with --mode sleep 10s)");
  app->add_option("--seed", flags->seed, "of all that is drawn at random (default: a new one)")
      ->type_name("N");
  app->add_flag("--no-controls", flags->no_controls,
                "do not also delay the metric's own function, of which the answer is known");
  app->add_flag("--factorial", flags->factorial,
                "of two groups: also both at once, which tells serial work from parallel branches");
  app->add_flag("-y,--yes", flags->yes, "do not ask whether the plan is wanted");
  AddFormat(app, &flags->json);
  app->add_option("-o,--output", flags->output, "keep all of it in this file (.sbump)")
      ->type_name("FILE");
}

absl::Status TakeExperimentFlags(const ExperimentFlags& flags, v1::Experiment* experiment) {
  SB_RETURN_IF_ERROR(TakeMetric(flags.metric, *experiment->mutable_metric()));
  experiment->set_budget_ns(flags.budget_ns.value_or(0));
  experiment->set_smallest_effect(flags.smallest_effect / 100);
  experiment->set_margin(flags.margin);
  experiment->set_top_share(flags.top_share / 100);
  experiment->set_max_delay_ns(flags.max_delay_ns.value_or(0));
  experiment->set_seed(flags.seed);
  experiment->set_no_controls(flags.no_controls);
  experiment->set_factorial(flags.factorial);
  experiment->set_asks_first(!flags.yes);
  if (!flags.yes && !IsTerminal(STDIN_FILENO)) {
    return absl::InvalidArgumentError(
        "the plan is shown before the experiment, and there is nobody to ask: give --yes");
  }
  return absl::OkStatus();
}

ExitCode FollowExperiment(const CommandContext& context, const ExperimentFlags& flags,
                          v1::Experiment experiment) {
  v1::RunRequest begin;
  *begin.mutable_begin() = std::move(experiment);
  std::optional<RunFileWriter> kept;
  if (!flags.output.empty()) {
    absl::StatusOr<RunFileWriter> created =
        RunFileWriter::Create(flags.output, HeaderOfThisMachine(context.words), begin);
    if (!created.ok()) return Fail(ExitCode::kError, ToStd(created.status().message()));
    kept = *std::move(created);
  }
  OutputFile file = OutputFile::StandardOutput();
  Interrupt interrupt;
  const auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kProcess);
  const auto stream = (*client)->RunExperiment();
  Requests requests(stream.get());
  requests.Send(begin);
  Follower follower(context, flags, &requests, &file, kept ? &*kept : nullptr);
  // The first time what is known is answered; the second time it ends at once.
  absl::StatusOr<std::unique_ptr<MetricSampler>> sampler = StartSampling(flags.metric, &requests);
  if (!sampler.ok()) return Fail(ExitCode::kBadArguments, ToStd(sampler.status().message()));
  interrupt.Watch([&](int count) { count == 1 ? requests.Stop() : (*client)->CancelAll(); });
  v1::RunReply reply;
  while (stream->Read(&reply)) follower.Take(reply);
  interrupt.StopWatching();
  if (*sampler != nullptr) (*sampler)->Stop();
  return follower.Finish(stream->Finish());
}

}  // namespace sbump
