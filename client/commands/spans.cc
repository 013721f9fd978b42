#include <unistd.h>

#include <set>

#include "client/commands/command.h"
#include "client/commands/session_stream.h"
#include "client/commands/spans_output.h"
#include "client/limits.h"
#include "client/printable.h"
#include "client/spans/span_format.h"
#include "client/text_table.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

constexpr uint64_t kIntervalNs = 200'000'000;

struct SpansFlags {
  int32_t pid = 0;
  SelectionFlags selection;
  std::vector<std::string> skip_types;
  bool no_skip = false;
  bool no_shapes = false;
  uint64_t forwards = 0;
  std::optional<uint64_t> duration_ns;
  std::optional<uint64_t> delay_ns;
  std::optional<uint64_t> ttl_ns;
  std::string format;
  std::string style = "path";
  std::string output;
};

v1::AttachRequest RequestOf(const SpansFlags& flags, v1::TargetSelection selection) {
  v1::AttachRequest request;
  request.set_pid(flags.pid);
  *request.mutable_selection() = std::move(selection);
  v1::SpanOptions& spans = *request.mutable_spans();
  for (const std::string& type : flags.skip_types) spans.add_skip_types(type);
  spans.set_no_default_skip_types(flags.no_skip);
  spans.set_no_shapes(flags.no_shapes);
  request.set_delay_ns(flags.delay_ns.value_or(0));
  request.set_duration_ns(flags.duration_ns.value_or(0));
  request.set_ttl_ns(flags.ttl_ns.value_or(0));
  request.set_interval_ns(kIntervalNs);
  request.set_client_name(ClientName());
  return request;
}

std::unique_ptr<SpanWriter> MakeWriter(const CommandContext& context, const SpansFlags& flags,
                                       ControlClient* client, OutputFile* file) {
  if (flags.style == "pythooks") {
    const v1::ListModulesRequest request =
        TreeRequest(flags.pid, flags.selection.module_root, flags.selection.module_prefix,
                    flags.selection.callables);
    return PytHooksTexts(file, [client, request] { return client->ListModules(request); });
  }
  const std::string format = flags.format.empty() ? SpanFormatOf(flags.output) : flags.format;
  if (auto writer = MakeSpanWriter(format, file)) return writer;
  const size_t width = IsTerminal(file->fd()) ? SizeOf(file->fd()).columns : kUnlimitedWidth;
  return SpanTable(file, PaletteFor(context, file->fd()), width);
}

std::string WhyNothing(const v1::SessionUpdate& head) {
  std::set<std::string> reasons;
  for (const v1::PatternStats& pattern : head.patterns()) {
    for (const v1::NearMiss& near_miss : pattern.near_misses()) reasons.insert(near_miss.reason());
  }
  std::string text = "no module was matched";
  for (const std::string& reason : reasons) text += StrCat("; ", Printable(reason));
  return text;
}

ExitCode Follow(const CommandContext& context, const SpansFlags& flags,
                const v1::AttachRequest& request) {
  absl::StatusOr<OutputFile> file = OutputFile::Open(flags.output);
  if (!file.ok()) return Fail(ExitCode::kError, ToStd(file.status().message()));
  Interrupt interrupt;
  auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kProcess);
  const auto writer = MakeWriter(context, flags, client->get(), &*file);
  SpansOutput output(client->get(), writer.get(), flags.forwards, Warnings::kTell);
  const auto stream = (*client)->Attach(request);
  SessionModel model;
  const StreamEnd end = FollowSession(client->get(), stream.get(), &interrupt, OnInterrupt::kDetach,
                                      &*file, &output, &model);
  const Outcome outcome = AttachOutcome(model.head(), end);
  if (outcome.code == ExitCode::kNoMatch) return Fail(outcome.code, WhyNothing(model.head()));
  if (!outcome.message.empty()) Fail(outcome.code, outcome.message);
  if (outcome.code != ExitCode::kOk) return outcome.code;
  if (!output.status().ok()) return Fail(output.status(), Subject::kProcess);
  if (file->failed()) return Fail(ExitCode::kError, file->Trouble());
  if (output.forwards() < flags.forwards)
    Say(StrCat("the session ended after ", output.forwards(), " of ", flags.forwards, " forwards"));
  return ExitCode::kOk;
}

ExitCode RunSpans(const CommandContext& context, SpansFlags flags) {
  if (flags.style == "pythooks" && !flags.format.empty()) {
    return Fail(ExitCode::kBadArguments,
                "--style pythooks is a form of its own: give it or --format");
  }
  if (flags.selection.modules.empty()) flags.selection.modules = {"*"};
  flags.selection.longest_delay_ns = kLongestSpinNs;
  const uint64_t delay_ns = flags.delay_ns.value_or(0);
  if (const absl::Status status =
          CheckDelay(StrCat("--delay ", FormatDuration(delay_ns)), delay_ns, kLongestSpinNs);
      !status.ok()) {
    return Fail(status, Subject::kProcess);
  }
  absl::StatusOr<v1::TargetSelection> selection = BuildSelection(flags.selection);
  if (!selection.ok()) return Fail(ExitCode::kBadTargets, ToStd(selection.status().message()));
  return Follow(context, flags, RequestOf(flags, *std::move(selection)));
}

}  // namespace

void AddSpans(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "spans");
  const auto flags = std::make_shared<SpansFlags>();
  AddPid(app, &flags->pid)->required();
  AddModuleFlags(app, &flags->selection);
  AddRepeated(app, "--skip-type", &flags->skip_types,
              "a class to leave out, beside Identity and Dropout; repeatable")
      ->type_name("TYPE");
  app->add_flag("--no-skip", flags->no_skip, "do not leave out Identity and Dropout");
  app->add_flag("--no-shapes", flags->no_shapes,
                "do not look at tensors: a call costs some 0.5us less");
  app->add_option("--forwards", flags->forwards,
                  "end after so many outermost calls, and leave out what had begun before "
                  "(default: no limit)")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000}).description(""));
  AddDuration(app, "-d,--duration", &flags->duration_ns,
              "end after this long (default: only --ttl limits it)");
  AddDuration(app, "--delay", &flags->delay_ns,
              StrCat("delay each of these calls, at most ", FormatDuration(kLongestSpinNs),
                     "; spans begin after it (default: 0)"));
  AddDuration(app, "--ttl", &flags->ttl_ns, "longest life of the session (default: 1h)");
  app->add_option("-f,--format", flags->format,
                  "table: figures of each module; chrome: for Perfetto and chrome://tracing; "
                  "jsonl: a JSON object for each span; folded: stacks with their own nanoseconds; "
                  "protobuf: SpanBatch messages (default: by --output's ending, .json chrome, "
                  ".jsonl, .folded, .pb, else table)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "chrome", "jsonl", "folded", "protobuf"}).description(""));
  app->add_option("--style", flags->style,
                  "path: a span is named by its module's path; pythooks: instead of a --format the "
                  "texts of vLLM's layerwise tracing (PytHooks), a line for each range that it "
                  "would push (default: path)")
      ->type_name("path|pythooks")
      ->check(CLI::IsMember({"path", "pythooks"}).description(""));
  AddOutput(app, &flags->output);
  app->callback([context, flags] { context->run = [=] { return RunSpans(*context, *flags); }; });
}

}  // namespace sbump
