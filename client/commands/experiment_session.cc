#include "client/commands/experiment_session.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <iostream>
#include <utility>

#include "client/commands/metric_stream.h"
#include "client/commands/progress_bar.h"
#include "client/experiment/experiment_view.h"
#include "client/experiment/ranking_view.h"
#include "client/experiment/recompute.h"
#include "client/experiment/run_file.h"
#include "client/experiment/run_header.h"
#include "client/human_units.h"
#include "client/json_output.h"
#include "client/printable.h"
#include "client/update_merger.h"
#include "daemon/base/clock.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// The daemon waits a little longer (experiments.proto).
constexpr uint64_t kLongestQuestionNs = 120'000'000'000;

enum class Consent { kYes, kNo, kNobody };

// No, too, where Ctrl-C comes first. What was typed before the question is no answer to it.
Consent AskOnTerminal(const Stopper& stopper) {
  constexpr int kLookAgainMs = 100;
  tcflush(STDIN_FILENO, TCIFLUSH);
  const uint64_t until_ns = MonotonicNs() + kLongestQuestionNs;
  std::cerr << "Go on? [y/N] (within " << HumanNs(kLongestQuestionNs) << ") " << std::flush;
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  while (poll(&input, 1, kLookAgainMs) <= 0) {  // also where a signal comes in between
    if (!stopper.is_stopped() && MonotonicNs() < until_ns) continue;
    std::cerr << "\n";
    return stopper.is_stopped() ? Consent::kNo : Consent::kNobody;
  }
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes" ? Consent::kYes : Consent::kNo;
}

size_t WidthOf(int fd) { return IsTerminal(fd) ? SizeOf(fd).columns : kUnlimitedWidth; }

void WriteLines(const std::vector<std::string>& lines, OutputFile* file) {
  for (const std::string& line : lines) file->Write(line + "\n");
}

// One experiment's answers.
class Follower {
 public:
  Follower(const CommandContext& context, const ExperimentFlags& flags,
           const v1::Experiment& experiment, std::string before_asking, const Stopper& stopper,
           ExperimentRequests* requests, OutputFile* file, RunFileWriter* kept)
      : context_(context),
        flags_(flags),
        before_asking_(std::move(before_asking)),
        stopper_(stopper),
        requests_(requests),
        file_(file),
        kept_(kept),
        seen_({.experiment = experiment}) {}

  void Take(const v1::RunReply& reply) {
    if (kept_ != nullptr && !reply.has_clock()) kept_->Write(reply);
    switch (reply.what_case()) {
      case v1::RunReply::kSession:
        return TakeUpdate(reply.session());
      case v1::RunReply::kPlan:
        return TakePlan(reply);
      case v1::RunReply::kWindow:
        return TakeWindow(reply);
      case v1::RunReply::kProgress:
        return bar_.Show(reply.progress());
      case v1::RunReply::kResult:
        end_.result = reply.result();
        return;
      case v1::RunReply::kClock:
        return requests_->AnswerClock(reply.clock());
      case v1::RunReply::WHAT_NOT_SET:
        return;
    }
  }

  // `status` of the call. A daemon that went away has not said what it knew: that is computed here.
  ExperimentEnd Finish(const absl::Status& status) {
    bar_.Erase();
    end_.status = status;
    end_.outcome = OutcomeOf(status);
    if (!status.ok() && !end_.result && !seen_.windows.empty())
      end_.result = Recompute(seen_).result;
    return std::move(end_);
  }

 private:
  Outcome OutcomeOf(const absl::Status& status) const {
    if (Outcome outcome = OfSession(); outcome.code != ExitCode::kOk) return outcome;
    if (end_.declined)
      return {ExitCode::kInvalid,
              StrCat(nobody_answered_ ? "nobody answered within " + HumanNs(kLongestQuestionNs)
                                      : "the plan was declined",
                     ": nothing was measured, and nothing is slowed")};
    const std::string_view message = ToStd(status.message());
    if (message.starts_with("guardrail: "))
      return {ExitCode::kGuardrail, Printable(std::string(message))};
    if (absl::IsNotFound(status) && message.starts_with("no match: "))
      return {ExitCode::kNoMatch, std::string(message)};
    if (absl::IsCancelled(status) && stopper_.is_stopped()) return WhatWasStopped();
    if (!status.ok())
      return {ExitCodeFor(status, Subject::kProcess),
              message.empty() ? "refused, without a reason" : std::string(message)};
    if (!end_.result)
      return {ExitCode::kError, "the daemon ended the experiment without an answer"};
    return {};
  }

  Outcome WhatWasStopped() const {
    if (end_.result) return {ExitCode::kError, "given up before the daemon had detached"};
    return {ExitCode::kInvalid, end_.plan ? "given up before the daemon had said what it knows"
                                          : "it was stopped before anything was measured"};
  }

  // Where it ended by itself, or badly.
  Outcome OfSession() const {
    if (!last_) return {};
    v1::SessionUpdate head = *last_;
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
    if (update->has_end()) last_ = std::move(update);
  }

  void TakeWindow(const v1::RunReply& reply) {
    end_.has_pilot = true;
    if (flags_.json) file_->Write(JsonLine(reply));
    if (seen_.plan && seen_.windows.size() < kMostRunWindows)
      seen_.windows.push_back(reply.window());
  }

  void TakePlan(const v1::RunReply& reply) {
    seen_.plan = end_.plan = reply.plan();
    bar_.Erase();
    if (flags_.json) file_->Write(JsonLine(reply));
    const Palette palette = PaletteFor(context_, STDERR_FILENO);
    for (const std::string& line : PlanLines(reply.plan(), palette, WidthOf(STDERR_FILENO)))
      std::cerr << line << "\n";
    if (!seen_.experiment.asks_first()) return;
    if (!before_asking_.empty()) std::cerr << before_asking_ << "\n";
    const uint64_t begin_ns = MonotonicNs();
    const Consent consent = AskOnTerminal(stopper_);
    end_.declined = consent != Consent::kYes;
    nobody_answered_ = consent == Consent::kNobody;
    end_.asked_ns = MonotonicNs() - begin_ns;
    requests_->Approve(!end_.declined);
  }

  const CommandContext& context_;
  const ExperimentFlags& flags_;
  const std::string before_asking_;
  const Stopper& stopper_;
  ExperimentRequests* requests_;
  OutputFile* file_;
  RunFileWriter* kept_;  // null: none
  ProgressBar bar_;
  UpdateMerger merger_;
  std::optional<v1::SessionUpdate> last_;  // of the session
  RunStage seen_;                          // what was asked, and the plan's windows
  bool nobody_answered_ = false;
  ExperimentEnd end_;
};

}  // namespace

ExperimentSession::ExperimentSession(const CommandContext& context, const ExperimentFlags& flags)
    : context_(context), flags_(flags) {}

ExitCode ExperimentSession::Connect() {
  absl::StatusOr<std::unique_ptr<ControlClient>> client = sbump::Connect(context_);
  if (!client.ok()) return Fail(client.status(), Subject::kProcess);
  client_ = *std::move(client);
  stopper_.emplace(&interrupt_, [client = client_.get()] { client->CancelAll(); });
  return ExitCode::kOk;
}

absl::Status ExperimentSession::Keep(const v1::RunRequest& begin) {
  if (flags_.output.empty()) return absl::OkStatus();
  if (kept_) {
    kept_->Write(begin);
    return absl::OkStatus();
  }
  // One that does not tell runs no experiments either, and says so then.
  const v1::GetInfoReply daemon = client_->GetInfo().value_or(v1::GetInfoReply());
  SB_ASSIGN_OR_RETURN(
      kept_, RunFileWriter::Create(flags_.output, HeaderOf(daemon, context_.words), begin));
  return absl::OkStatus();
}

std::string ExperimentSession::TroubleOfWriting() const {
  return file_.failed() ? file_.Trouble() : kept_->Trouble();
}

ExperimentEnd ExperimentSession::Run(const v1::Experiment& experiment, std::string before_asking) {
  v1::RunRequest begin;
  *begin.mutable_begin() = experiment;
  if (const absl::Status kept = Keep(begin); !kept.ok())
    return {.outcome = {ExitCode::kError, std::string(ToStd(kept.message()))}, .status = kept};
  if (!has_written()) return {.outcome = {ExitCode::kError, TroubleOfWriting()}};
  const auto stream = client_->RunExperiment();
  ExperimentRequests requests(stream.get());
  requests.Send(begin);
  Follower follower(context_, flags_, experiment, std::move(before_asking), *stopper_, &requests,
                    &file_, kept_ ? &*kept_ : nullptr);
  absl::StatusOr<std::unique_ptr<MetricSampler>> sampler = StartSampling(flags_.metric, &requests);
  if (!sampler.ok()) {
    client_->CancelAll();
    return {.outcome = {ExitCode::kBadArguments, std::string(ToStd(sampler.status().message()))},
            .status = sampler.status()};
  }
  stopper_->OnStop([&requests] { requests.Stop(); });
  v1::RunReply reply;
  bool is_stopped = false;
  while (stream->Read(&reply)) {
    follower.Take(reply);
    // Nobody is slowed for what is lost.
    if (!has_written() && !std::exchange(is_stopped, true)) requests.Stop();
  }
  stopper_->OnStop(nullptr);
  if (*sampler != nullptr) (*sampler)->Stop();
  ExperimentEnd end = follower.Finish(stream->Finish());
  if (!has_written()) end.outcome = {ExitCode::kError, TroubleOfWriting()};
  return end;
}

void ExperimentSession::Keep(const v1::Ranking& ranking) {
  if (!kept_) return;
  v1::RankingLine line;
  *line.mutable_ranking() = ranking;
  kept_->Write(line);
}

ExitCode ExperimentSession::CheckWritten() {
  return has_written() ? ExitCode::kOk : Fail(ExitCode::kError, TroubleOfWriting());
}

MadeExperiment MadeOf(const v1::Experiment& asked, const ExperimentEnd& end) {
  return {
      .asked = &asked, .result = &*end.result, .plan = end.plan.has_value() ? &*end.plan : nullptr};
}

ExitCode ExitOf(const v1::ExperimentResult& result) {
  return result.invalid().empty() && HasVerdict(result.results()) ? ExitCode::kOk
                                                                  : ExitCode::kInvalid;
}

ExitCode ExitOf(const v1::Ranking& ranking) {
  return ranking.invalid().empty() && HasVerdict(ranking.results()) ? ExitCode::kOk
                                                                    : ExitCode::kInvalid;
}

void Tell(const CommandContext& context, bool json, const v1::ExperimentResult& result,
          OutputFile* file) {
  if (json)
    file->Write(JsonLine(result));
  else
    WriteLines(ResultLines(result, PaletteFor(context, file->fd()), WidthOf(file->fd())), file);
}

void Tell(const CommandContext& context, bool json, const v1::Ranking& ranking, OutputFile* file) {
  if (json)
    file->Write(JsonLine(ranking));
  else
    WriteLines(RankingLines(ranking, PaletteFor(context, file->fd()), WidthOf(file->fd())), file);
}

}  // namespace sbump
