#include "client/commands/capture_session.h"

#include <utility>

#include "client/commands/session_stream.h"
#include "client/commands/spans_output.h"
#include "client/graph/graph_capture.h"
#include "client/graph/leaf_policy.h"
#include "client/human_units.h"
#include "client/module_path.h"
#include "client/printable.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr uint64_t kIntervalNs = 200'000'000;

absl::StatusOr<CaptureOptions> OptionsOf(const CaptureFlags& flags) {
  CaptureOptions options;
  if (flags.forwards != 0) options.forwards = flags.forwards;
  options.of = flags.of;
  SB_ASSIGN_OR_RETURN(options.leaves, LeafPolicy::Make(flags.leaves, flags.no_leaf));
  return options;
}

absl::StatusOr<v1::AttachRequest> RequestOf(const CaptureFlags& flags) {
  SelectionFlags all;
  all.modules = {"*"};
  all.module_root = flags.root;
  all.module_prefix = flags.prefix;
  all.callables = flags.callables;
  v1::AttachRequest request;
  SB_ASSIGN_OR_RETURN(*request.mutable_selection(), BuildSelection(all));
  request.set_pid(flags.pid);
  request.mutable_spans()->set_no_default_skip_types(true);
  request.mutable_spans()->set_operators(true);
  request.set_duration_ns(flags.duration_ns.value_or(0));
  request.set_ttl_ns(flags.ttl_ns.value_or(0));
  request.set_interval_ns(kIntervalNs);
  request.set_client_name(ClientName());
  return request;
}

absl::Status CutBelow(const CaptureFlags& flags, const ModelFacts& facts, LeafPolicy& leaves) {
  for (const std::string& path : flags.until) {
    const std::optional<std::string> full =
        FullPath(flags.prefix.value_or("top"), path,
                 [&](const std::string& one) { return facts.HasModule(one); });
    if (!full) {
      return absl::NotFoundError(
          StrCat("pid ", flags.pid, ": --until ", Printable(path),
                 ": there is no such module; `sbumpctl modules` tells their paths"));
    }
    leaves.CutBelow(*full);
  }
  return absl::OkStatus();
}

ExitCode Follow(ControlClient* client, Interrupt* interrupt, const v1::AttachRequest& request,
                GraphCapture* capture, std::vector<std::string>* warnings) {
  OutputFile standard_output = OutputFile::StandardOutput();
  SpansOutput output(client, capture, 0, Warnings::kLeave);
  const auto stream = client->Attach(request);
  SessionModel model;
  const StreamEnd end = FollowSession(client, stream.get(), interrupt, OnInterrupt::kDetach,
                                      &standard_output, &output, &model);
  const Outcome outcome = AttachOutcome(model.head(), end);
  if (!outcome.message.empty()) Fail(outcome.code, outcome.message);
  warnings->assign(model.head().warnings().begin(), model.head().warnings().end());
  if (outcome.code == ExitCode::kOk && !output.status().ok())
    return Fail(output.status(), Subject::kProcess);
  return outcome.code;
}

}  // namespace

v1::ListModulesRequest TreeRequestOf(const CaptureFlags& flags) {
  v1::ListModulesRequest request =
      TreeRequest(flags.pid, flags.root, flags.prefix, flags.callables);
  request.set_max_stop_ns(flags.max_stop_ns.value_or(0));
  return request;
}

void AddCaptureFlags(CLI::App* app, CaptureFlags* flags, const std::string& of_what) {
  app->add_option("--forwards", flags->forwards,
                  StrCat(of_what, "end after so many forwards (default: 20)"))
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1}, GraphCapture::kMostForwards).description(""));
  app->add_option("--of", flags->of,
                  StrCat(of_what,
                         "the module whose calls are the forwards, by its path (default: of the "
                         "outermost ones that with the most operators)"))
      ->type_name("PATH");
  AddRepeated(app, "--leaf", &flags->leaves,
              StrCat(of_what,
                     "a class whose modules are one node each, beside those of torch.nn: a glob "
                     "over its name or its full name; repeatable"))
      ->type_name("TYPE");
  app->add_flag("--no-leaf", flags->no_leaf,
                StrCat(of_what, "modules of torch.nn are no nodes: the operators within them are"));
}

bool HasCaptureFlags(const CaptureFlags& flags) {
  return flags.forwards != 0 || !flags.of.empty() || !flags.leaves.empty() || flags.no_leaf;
}

ExitCode CaptureGraph(const CommandContext& context, const CaptureFlags& flags, Graph* graph) {
  absl::StatusOr<CaptureOptions> options = OptionsOf(flags);
  if (!options.ok()) return Fail(ExitCode::kBadTargets, ToStd(options.status().message()));
  const absl::StatusOr<v1::AttachRequest> request = RequestOf(flags);
  if (!request.ok()) return Fail(ExitCode::kBadTargets, ToStd(request.status().message()));
  Interrupt interrupt;
  const auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kProcess);
  const absl::StatusOr<v1::ListModulesReply> modules = (*client)->ListModules(TreeRequestOf(flags));
  if (!modules.ok()) return Fail(modules.status(), Subject::kProcess);
  const ModelFacts facts(*modules);
  if (!flags.of.empty() && !facts.HasModule(flags.of)) {
    return Fail(ExitCode::kNoMatch,
                StrCat("pid ", flags.pid, ": --of ", Printable(flags.of),
                       ": there is no such module; `sbumpctl modules` tells their paths"));
  }
  if (const absl::Status status = CutBelow(flags, facts, options->leaves); !status.ok())
    return Fail(ExitCode::kNoMatch, ToStd(status.message()));
  const uint64_t wanted = options->forwards;
  GraphCapture capture(facts, *std::move(options));
  std::vector<std::string> warnings;
  const ExitCode code = Follow(client->get(), &interrupt, *request, &capture, &warnings);
  // What a process did before it ended was seen.
  if (code == ExitCode::kOk || code == ExitCode::kTargetEnded) *graph = capture.Result();
  if (graph->forwards == 0) {
    for (const std::string& warning : warnings) Say(Printable(warning));
    if (code != ExitCode::kOk) return code;
    return Fail(ExitCode::kNoMatch, StrCat("no forward was seen", capture.WhatWasCalled()));
  }
  graph->warnings.insert(graph->warnings.end(), warnings.begin(), warnings.end());
  if (graph->forwards < wanted) {
    Say(StrCat("the session ended after ", graph->forwards, " of ", wanted, " forwards of ",
               Printable(graph->root)));
  }
  return code;
}

}  // namespace sbump
