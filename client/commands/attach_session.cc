#include "client/commands/attach_session.h"

#include <memory>
#include <optional>
#include <utility>

#include "client/commands/session_stream.h"
#include "client/commands/spans_output.h"
#include "client/spans/span_format.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Writes the spans beside what another output shows.
class WithSpans : public SessionOutput {
 public:
  WithSpans(std::unique_ptr<SessionOutput> output, ControlClient* client, OutputFile file,
            std::string_view format)
      : output_(std::move(output)),
        file_(std::move(file)),
        writer_(MakeSpanWriter(format, &file_)),
        spans_(client, writer_.get(), 0, Warnings::kLeave) {}

  void Show(const v1::SessionUpdate& update, const SessionModel& model) override {
    output_->Show(update, model);
    spans_.Show(update, model);
  }
  void Finish(const SessionModel& model) override {
    output_->Finish(model);
    spans_.Finish(model);
    if (!spans_.status().ok())
      trouble_ = StrCat("spans could not be read: ", spans_.status().message());
    else if (file_.failed())
      trouble_ = file_.Trouble();
  }
  // Why not all spans are in the file; empty: they are.
  const std::string& trouble() const { return trouble_; }
  void Notice(std::string_view text) override { output_->Notice(text); }

 private:
  const std::unique_ptr<SessionOutput> output_;
  OutputFile file_;
  const std::unique_ptr<SpanWriter> writer_;
  SpansOutput spans_;
  std::string trouble_;
};

// Nothing where none are asked for.
absl::StatusOr<std::optional<OutputFile>> OpenSpans(const AttachOutput& shown) {
  if (shown.spans_file.empty()) return std::nullopt;
  SB_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Open(shown.spans_file));
  return std::optional(std::move(file));
}

}  // namespace

absl::Status CheckSpansFile(const AttachOutput& shown) {
  if (shown.spans_file.empty()) return absl::OkStatus();
  if (shown.keep) {
    return absl::InvalidArgumentError(
        "--spans: nobody would read them once this command has ended: not with --keep");
  }
  if (!SpanFormatOf(shown.spans_file).empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("--spans ", shown.spans_file,
             ": the ending says the form: .json (for Perfetto and chrome://tracing), .jsonl, "
             ".folded or .pb"));
}

ExitCode FollowAttach(const CommandContext& context, const AttachOutput& shown,
                      const v1::AttachRequest& request) {
  absl::StatusOr<OutputFile> file = OutputFile::Open(shown.output);
  if (!file.ok()) return Fail(ExitCode::kError, ToStd(file.status().message()));
  absl::StatusOr<std::optional<OutputFile>> spans = OpenSpans(shown);
  if (!spans.ok()) return Fail(ExitCode::kError, ToStd(spans.status().message()));
  Interrupt interrupt;
  auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kProcess);
  const OnInterrupt on_interrupt = shown.keep ? OnInterrupt::kLeave : OnInterrupt::kDetach;
  auto output = ChooseOutput(context, shown.json, on_interrupt, &*file);
  WithSpans* with_spans = nullptr;
  if (*spans) {
    auto both = std::make_unique<WithSpans>(std::move(output), client->get(), **std::move(spans),
                                            SpanFormatOf(shown.spans_file));
    with_spans = both.get();
    output = std::move(both);
  }
  const auto stream = (*client)->Attach(request);
  SessionModel model;
  const StreamEnd end = FollowSession(client->get(), stream.get(), &interrupt, on_interrupt, &*file,
                                      output.get(), &model);
  if (shown.at_end) shown.at_end(model);
  const Outcome outcome = AttachOutcome(model.head(), end);
  if (!outcome.message.empty()) Fail(outcome.code, outcome.message);
  if (outcome.code != ExitCode::kOk) return outcome.code;
  if (file->failed()) return Fail(ExitCode::kError, file->Trouble());
  if (with_spans != nullptr && !with_spans->trouble().empty())
    return Fail(ExitCode::kError, with_spans->trouble());
  return ExitCode::kOk;
}

}  // namespace sbump
