#include "client/commands/capture_session.h"
#include "client/commands/command.h"
#include "client/graph/graph_view.h"
#include "client/output_file.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

struct GraphFlags {
  CaptureFlags capture;
  std::string scope_style = "path";
  std::string format;
  std::string output;
};

std::string_view FormatOf(const GraphFlags& flags) {
  return flags.format.empty() ? GraphFormatOf(flags.output) : std::string_view(flags.format);
}

std::string Render(const CommandContext& context, const GraphFlags& flags, const Graph& graph,
                   int fd) {
  const ScopeStyle style = flags.scope_style == "dmx" ? ScopeStyle::kDmx : ScopeStyle::kPath;
  const std::string_view format = FormatOf(flags);
  if (format == "json") return GraphJson(graph, style);
  if (format == "dot") return GraphDot(graph);
  const size_t width = IsTerminal(fd) ? SizeOf(fd).columns : kUnlimitedWidth;
  return GraphTable(graph, style, PaletteFor(context, fd), width);
}

absl::Status Check(const GraphFlags& flags) {
  for (std::string_view picture : {".svg", ".png", ".pdf"}) {
    if (!flags.format.empty() || !flags.output.ends_with(picture)) continue;
    return absl::InvalidArgumentError(
        StrCat("--output ", flags.output,
               ": no picture is drawn here; write FILE.dot, and draw it: dot -T", picture.substr(1),
               " FILE.dot"));
  }
  if (FormatOf(flags) == "dot" && flags.scope_style != "path")
    return absl::InvalidArgumentError(
        "--scope-style is about table and json: dot has the modules as boxes");
  return absl::OkStatus();
}

ExitCode RunGraph(const CommandContext& context, const GraphFlags& flags) {
  if (const absl::Status status = Check(flags); !status.ok())
    return Fail(status, Subject::kProcess);
  absl::StatusOr<OutputFile> file = OutputFile::Open(flags.output);
  if (!file.ok()) return Fail(ExitCode::kError, ToStd(file.status().message()));
  Graph graph;
  const ExitCode code = CaptureGraph(context, flags.capture, &graph);
  if (graph.forwards == 0) return code;
  if (!file->Write(Render(context, flags, graph, file->fd())))
    return Fail(ExitCode::kError, file->Trouble());
  return code;
}

}  // namespace

void AddGraph(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "graph");
  const auto flags = std::make_shared<GraphFlags>();
  CaptureFlags& capture = flags->capture;
  AddPid(app, &capture.pid)->required();
  AddCaptureFlags(app, &capture);
  AddRepeated(
      app, "--until", &capture.until,
      "a module's path, from the model on (layers.0) or whole (top.layers.0): its children, "
      "and what else it calls, are one node each; repeatable")
      ->type_name("PATH");
  app->add_option("--scope-style", flags->scope_style,
                  "path: a scope is the module's path; dmx: as dmx.compressor writes it, each "
                  "module that is being called joined by __ (default: path)")
      ->type_name("path|dmx")
      ->check(CLI::IsMember({"path", "dmx"}).description(""));
  app->add_option("--prefix", capture.prefix, "the path of the model itself (default: top)")
      ->type_name("NAME");
  app->add_option("--root", capture.root,
                  "the class whose instances are modules (default: torch.nn.Module)")
      ->type_name("PACKAGE.MODULE.CLASS");
  AddCallableFlags(app, &capture.callables);
  AddTreeStop(app, &capture.max_stop_ns);
  AddDuration(app, "-d,--duration", &capture.duration_ns,
              "end after this long (default: only --ttl limits it)");
  AddDuration(app, "--ttl", &capture.ttl_ns, "longest life of the session (default: 1h)");
  app->add_option("-f,--format", flags->format,
                  "table: a node a line; json: one line for programs; dot: for graphviz (default: "
                  "by --output's ending, .json, .dot, .gv, else table)")
      ->type_name("table|json|dot")
      ->check(CLI::IsMember({"table", "json", "dot"}).description(""));
  AddOutput(app, &flags->output);
  app->callback([context, flags] { context->run = [=] { return RunGraph(*context, *flags); }; });
}

}  // namespace sbump
