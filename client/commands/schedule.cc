#include <unistd.h>

#include <set>

#include "client/bounded_file.h"
#include "client/commands/attach_session.h"
#include "client/commands/capture_session.h"
#include "client/commands/command.h"
#include "client/graph/graph_notes.h"
#include "client/graph/subgraph_view.h"
#include "client/human_units.h"
#include "client/limits.h"
#include "client/module_path.h"
#include "client/output_file.h"
#include "client/printable.h"
#include "client/schedule/schedule_file.h"
#include "client/schedule/schedule_view.h"
#include "client/update_merger.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/module_pattern.h"

namespace sbump {
namespace {

constexpr size_t kLongestFile = 1 << 20;

struct ScheduleFlags {
  std::string action, what;
  std::string pattern;   // of find, instead of `what`
  CaptureFlags capture;  // its pid, root, prefix and so on are those of every action
  bool within_leaves = false;
  std::string format = "table";
  AttachOutput shown;

  bool Takes(std::string_view name) const { return action == name; }
  // Forwards are captured for it.
  bool NeedsGraph() const { return Takes("find") && !pattern.empty(); }
};

absl::Status CheckWhat(const ScheduleFlags& flags) {
  const bool needs_what = (flags.Takes("find") && flags.pattern.empty()) || flags.Takes("apply");
  if (needs_what && flags.what.empty()) {
    return absl::InvalidArgumentError(
        flags.Takes("find") ? "find: write a regular expression behind it, or --pattern"
                            : "apply: write the name of a file behind it");
  }
  if (needs_what || flags.what.empty() || flags.Takes("list")) return absl::OkStatus();
  return absl::InvalidArgumentError(flags.Takes("find")
                                        ? StrCat("find: either --pattern or ", flags.what)
                                        : StrCat(flags.action, " takes no ", flags.what));
}

absl::Status Check(const ScheduleFlags& flags) {
  SB_RETURN_IF_ERROR(CheckWhat(flags));
  if (flags.capture.pid == 0 && !flags.Takes("primitives"))
    return absl::InvalidArgumentError("no process: name it with --pid");
  if (flags.format == "yaml" && !flags.Takes("list"))
    return absl::InvalidArgumentError("--format yaml: of `schedule list` only");
  if (!flags.pattern.empty() && !flags.Takes("find"))
    return absl::InvalidArgumentError("--pattern is about `schedule find`");
  if (!flags.capture.until.empty() && !flags.Takes("list") && !flags.Takes("find"))
    return absl::InvalidArgumentError(
        "--until is about `schedule list` and `schedule find`; in a file it is a primitive");
  if (!flags.NeedsGraph() && HasCaptureFlags(flags.capture)) {
    return absl::InvalidArgumentError(
        "--forwards, --of, --leaf and --no-leaf are about `schedule find --pattern`");
  }
  if (flags.Takes("apply") && (!flags.capture.root.empty() || flags.capture.prefix))
    return absl::InvalidArgumentError(
        "--root and --prefix: of `schedule apply` they are in the file");
  if (flags.within_leaves && !flags.Takes("list") &&
      !(flags.Takes("find") && flags.pattern.empty()))
    return absl::InvalidArgumentError(
        "--within-leaves is about `schedule list` and `schedule find REGEX`");
  const bool has_times = flags.capture.duration_ns || flags.capture.ttl_ns;
  if (has_times && !flags.Takes("apply") && !flags.NeedsGraph()) {
    return absl::InvalidArgumentError(
        "--duration and --ttl are about `schedule apply` and `schedule find --pattern`");
  }
  if (!flags.Takes("apply") &&
      (flags.shown.keep || !flags.shown.spans_file.empty() || !flags.shown.output.empty())) {
    return absl::InvalidArgumentError("--keep, --spans and --output are about `schedule apply`");
  }
  return CheckSpansFile(flags.shown);
}

// ---- list, find ----

std::optional<v1::SessionUpdate> FirstUpdate(UpdateStream& stream) {
  UpdateMerger merger;
  v1::SessionUpdate piece;
  while (stream.Read(&piece)) {
    if (auto update = merger.Add(std::move(piece))) return update;
  }
  return std::nullopt;
}

void SayWhyNot(const v1::SessionSummary& session, const absl::Status& status) {
  if (status.ok() || absl::IsNotFound(status)) return;  // it ended
  Say(StrCat("warning: what session ", session.session_id(),
             " does is not listed: ", Printable(ToStd(status.message()))));
}

// A summary names the first process of a session only: each is asked. Those that end meanwhile do
// nothing any more.
absl::StatusOr<DoingByPath> WhatIsDone(ControlClient& client, int32_t pid) {
  SB_ASSIGN_OR_RETURN(const v1::ListSessionsReply sessions, client.ListSessions());
  DoingByPath doing;
  for (const v1::SessionSummary& session : sessions.sessions()) {
    v1::WatchRequest request;
    request.set_session_id(session.session_id());
    const auto stream = client.Watch(request);
    if (const auto update = FirstUpdate(*stream)) {
      AddDoing(*update, pid, doing);
    } else {
      SayWhyNot(session, stream->Finish());
    }
  }
  return doing;
}

std::set<std::string> PathsOf(const DoingByPath& doing) {
  std::set<std::string> paths;
  for (const auto& [path, done] : doing) paths.insert(path);
  return paths;
}

// A session may be of another tree than the one that is listed.
void SayWhatIsElsewhere(const v1::ListModulesReply& modules, const DoingByPath& doing) {
  constexpr size_t kMostNames = 5;
  std::set<std::string> paths = PathsOf(doing);
  for (const v1::Module& module : modules.modules()) paths.erase(module.path());
  if (paths.empty()) return;
  std::string names;
  size_t named = 0;
  for (const std::string& path : paths) {
    if (named++ == kMostNames) break;
    names += StrCat(names.empty() ? "" : ", ", path.empty() ? "\"\"" : path);
  }
  Say(StrCat("warning: not listed is what is done at ", HumanCount(paths.size()),
             paths.size() == 1 ? " module" : " modules",
             " that this tree does not have (gone, or of another --root, --prefix or --callable): ",
             Printable(names), paths.size() > kMostNames ? ", ..." : ""));
}

size_t Width() {
  return IsTerminal(STDOUT_FILENO) ? SizeOf(STDOUT_FILENO).columns : kUnlimitedWidth;
}

void SayWhetherTooMany(const std::vector<ScheduleNode>& nodes, const DoingByPath& doing) {
  const auto entries = std::ranges::count_if(
      nodes, [&](const ScheduleNode& node) { return doing.contains(node.path); });
  if (static_cast<size_t>(entries) > kMostEntries)
    Say(StrCat("warning: ", entries, " entries: `schedule apply` takes ", kMostEntries));
}

std::string Render(const CommandContext& context, const ScheduleFlags& flags,
                   const std::vector<ScheduleNode>& nodes, const DoingByPath& doing) {
  if (flags.format == "table")
    return NodesText(nodes, doing, PaletteFor(context, STDOUT_FILENO), Width());
  SayWhetherTooMany(nodes, doing);
  const Schedule schedule = ScheduleOf({.root = flags.capture.root,
                                        .prefix = flags.capture.prefix,
                                        .callables = flags.capture.callables.types},
                                       nodes, doing);
  return flags.format == "json" ? NodesJson(nodes, doing, schedule) : TextOf(schedule);
}

// As Python's re.match() on the node's name within its parent.
absl::Status KeepFound(const std::string& regex, std::vector<ScheduleNode>& nodes) {
  SB_ASSIGN_OR_RETURN(const ModulePattern pattern, ModulePattern::Compile("re:" + regex));
  std::erase_if(nodes, [&](const ScheduleNode& node) { return !pattern.Matches(node.name, {}); });
  return absl::OkStatus();
}

absl::StatusOr<std::string> NodeOf(const ScheduleFlags& flags,
                                   const std::vector<ScheduleNode>& nodes,
                                   const std::string& path) {
  std::optional<std::string> full =
      FullPath(flags.capture.prefix.value_or("top"), path, [&](const std::string& one) {
        return std::ranges::find(nodes, one, &ScheduleNode::path) != nodes.end();
      });
  if (full) return *std::move(full);
  return absl::NotFoundError(StrCat("pid ", flags.capture.pid, ": there is no node ", path,
                                    "; see `sbumpctl schedule list`"));
}

absl::Status KeepAsked(const ScheduleFlags& flags, std::vector<ScheduleNode>& nodes) {
  std::vector<std::string> until;
  for (const std::string& path : flags.capture.until) {
    SB_ASSIGN_OR_RETURN(std::string full, NodeOf(flags, nodes, path));
    until.push_back(std::move(full));
  }
  if (flags.Takes("list") && !flags.what.empty()) {
    SB_ASSIGN_OR_RETURN(const std::string top, NodeOf(flags, nodes, flags.what));
    std::erase_if(nodes, [&](const ScheduleNode& node) {
      return node.path != top && !IsBelow(node.path, top);
    });
  }
  std::erase_if(nodes, [&](const ScheduleNode& node) {
    return std::ranges::any_of(until, [&](const std::string& path) {
      return IsBelow(node.path, path) && node.parent != path;
    });
  });
  return absl::OkStatus();
}

ExitCode ListOrFind(const CommandContext& context, const ScheduleFlags& flags) {
  const auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kProcess);
  const auto modules = (*client)->ListModules(TreeRequestOf(flags.capture));
  if (!modules.ok()) return Fail(modules.status(), Subject::kProcess);
  const absl::StatusOr<DoingByPath> doing = WhatIsDone(**client, flags.capture.pid);
  (*client)->CancelAll();
  if (!doing.ok()) return Fail(doing.status(), Subject::kProcess);
  const std::set<std::string> also =
      flags.Takes("list") ? PathsOf(*doing) : std::set<std::string>();
  std::vector<ScheduleNode> nodes = ScheduleNodes(*modules, flags.within_leaves, also);
  if (const absl::Status status = KeepAsked(flags, nodes); !status.ok())
    return Fail(ExitCode::kNoMatch, Printable(ToStd(status.message())));
  if (flags.Takes("find")) {
    const absl::Status status = KeepFound(flags.what, nodes);
    if (!status.ok()) return Fail(ExitCode::kBadTargets, ToStd(status.message()));
  }
  if (flags.Takes("list")) SayWhatIsElsewhere(*modules, *doing);
  const ExitCode code = Print(Render(context, flags, nodes, *doing),
                              nodes.empty() ? ExitCode::kNoMatch : ExitCode::kOk);
  if (nodes.empty()) Say("no node of the model is matched");
  return code;
}

// ---- find --pattern ----

ExitCode FindSubgraph(const CommandContext& context, const ScheduleFlags& flags) {
  const absl::StatusOr<SubgraphPattern> pattern = SubgraphPattern::Parse(flags.pattern);
  if (!pattern.ok())
    return Fail(ExitCode::kBadTargets, StrCat("--pattern: ", pattern.status().message()));
  Graph graph;
  const ExitCode code = CaptureGraph(context, flags.capture, &graph);
  if (graph.forwards == 0) return code;
  const std::vector<Subgraph> found = FindSubgraphs(graph, *pattern);
  const bool json = flags.format == "json";
  const std::string text =
      json ? SubgraphsJson(graph, found)
           : SubgraphsText(graph, found, PaletteFor(context, STDOUT_FILENO), Width());
  const ExitCode end = Print(text, found.empty() ? ExitCode::kNoMatch : code);
  for (const std::string& note : NotesOf(graph)) Say(note);
  if (found.empty()) Say("the pattern is nowhere in the graph");
  return end;
}

// ---- apply ----

struct TagFigures {
  uint64_t targets = 0, calls = 0, delayed_calls = 0, injected_delay_ns = 0;
};

// By the pattern as sbumpd writes it. Of entries with the same one the first counts.
std::map<std::string, std::string> TagsOf(const Schedule& schedule) {
  std::map<std::string, std::string> tags;
  for (const ScheduleEntry& entry : schedule.entries) {
    if (!entry.IsTarget()) continue;
    const absl::StatusOr<ModuleTarget> target = ParseModuleTarget(entry.pattern);
    if (target.ok()) tags.emplace(target->text, entry.tag);
  }
  return tags;
}

// A pattern's own figures have modules in them that an earlier entry took.
void SayTags(const Schedule& schedule, const SessionModel& model) {
  const std::map<std::string, std::string> tags = TagsOf(schedule);
  std::map<std::string, TagFigures> by_tag;
  for (const ScheduleEntry& entry : schedule.entries)
    if (!entry.tag.empty()) by_tag.try_emplace(entry.tag);
  for (const TargetRow* row : model.TopRows(model.target_count())) {
    const auto tag = tags.find(row->stats.pattern());
    if (tag == tags.end() || tag->second.empty()) continue;
    TagFigures& figures = by_tag[tag->second];
    ++figures.targets;
    figures.calls += row->stats.calls();
    figures.delayed_calls += row->stats.delayed_calls();
    figures.injected_delay_ns += row->stats.injected_delay_ns();
  }
  for (const auto& [tag, figures] : by_tag) {
    Say(StrCat("tag ", tag, ": ", HumanCount(figures.targets), " modules, ",
               HumanCount(figures.calls), " calls, ", HumanCount(figures.delayed_calls),
               " delayed by ", HumanNs(figures.injected_delay_ns)));
  }
}

ExitCode ApplyFile(const CommandContext& context, ScheduleFlags flags) {
  const absl::StatusOr<std::string> text = ReadBoundedFile(flags.what, kLongestFile);
  if (!text.ok()) return Fail(ExitCode::kBadTargets, ToStd(text.status().message()));
  const absl::StatusOr<Schedule> schedule = ParseSchedule(flags.what, *text);
  if (!schedule.ok()) return Fail(ExitCode::kBadTargets, ToStd(schedule.status().message()));
  v1::ListModulesReply modules;
  if (std::ranges::any_of(schedule->entries, &ScheduleEntry::until)) {
    const auto client = Connect(context);
    if (!client.ok()) return Fail(client.status(), Subject::kProcess);
    CaptureFlags tree = flags.capture;
    tree.root = schedule->root;
    tree.prefix = schedule->prefix;
    tree.callables.types.insert(tree.callables.types.end(), schedule->callables.begin(),
                                schedule->callables.end());
    auto reply = (*client)->ListModules(TreeRequestOf(tree));
    if (!reply.ok()) {
      return Fail(Annotate(reply.status(), "until: its module is looked up now, not when it comes"),
                  Subject::kProcess);
    }
    modules = *std::move(reply);
  }
  v1::AttachRequest request;
  const absl::Status status = Apply(*schedule, ScheduleNodes(modules, true), request);
  if (!status.ok()) return Fail(ExitCode::kBadTargets, ToStd(status.message()));
  if (!flags.shown.spans_file.empty() && !request.has_spans())
    return Fail(ExitCode::kBadArguments, "--spans: no entry of the schedule has a span");
  TakeCallables(flags.capture.callables, request.mutable_selection());
  request.set_pid(flags.capture.pid);
  request.set_duration_ns(flags.capture.duration_ns.value_or(0));
  request.set_ttl_ns(flags.capture.ttl_ns.value_or(0));
  request.set_keep(flags.shown.keep);
  request.set_client_name(ClientName());
  flags.shown.json = flags.format == "json";
  flags.shown.at_end = [&schedule](const SessionModel& model) { SayTags(*schedule, model); };
  return FollowAttach(context, flags.shown, request);
}

ExitCode RunSchedule(const CommandContext& context, const ScheduleFlags& flags) {
  if (const absl::Status status = Check(flags); !status.ok())
    return Fail(status, Subject::kProcess);
  if (flags.Takes("primitives")) {
    return Print(flags.format == "json" ? PrimitivesJson()
                                        : PrimitivesText(PaletteFor(context, STDOUT_FILENO)));
  }
  if (flags.Takes("apply")) return ApplyFile(context, flags);
  return flags.NeedsGraph() ? FindSubgraph(context, flags) : ListOrFind(context, flags);
}

}  // namespace

void AddSchedule(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "schedule");
  const auto flags = std::make_shared<ScheduleFlags>();
  app->add_option("ACTION", flags->action,
                  "list: the nodes of the model, or those from WHAT on; find: those whose name "
                  "within their parent "
                  "matches WHAT; apply: attach as the file WHAT says; primitives: what can be "
                  "done at a node")
      ->type_name("list|find|apply|primitives")
      ->check(CLI::IsMember({"list", "find", "apply", "primitives"}).description(""))
      ->required();
  app->add_option(
         "WHAT", flags->what,
         "of list: a node's path, from the model on (layers.0) or whole (top.layers.0); of "
         "find: a regular expression, from the name's begin on; of apply: a file, - for "
         "standard input")
      ->type_name("WHAT");
  app->add_option("--pattern", flags->pattern,
                  "of find, instead of WHAT: nodes of the graph that follow each other, as "
                  "`matmul > softmax`: operators, types of modules (Linear), or module(\"REGEX\"); "
                  "forwards are captured for it, as `sbumpctl graph` does")
      ->type_name("PATTERN");
  AddCaptureFlags(app, &flags->capture, "of --pattern: ");
  app->add_option("-p,--pid", flags->capture.pid, "the process, by its decimal id")
      ->type_name("PID")
      ->check(CLI::Range(1, std::numeric_limits<int32_t>::max()).description(""));
  app->add_option("--prefix", flags->capture.prefix, "the path of the model itself (default: top)")
      ->type_name("NAME");
  app->add_option("--root", flags->capture.root,
                  "the class whose instances are modules (default: torch.nn.Module)")
      ->type_name("PACKAGE.MODULE.CLASS");
  AddCallableFlags(app, &flags->capture.callables);
  AddTreeStop(app, &flags->capture.max_stop_ns);
  app->add_flag("--within-leaves", flags->within_leaves, "also what is within modules of torch.nn");
  AddRepeated(app, "--until", &flags->capture.until,
              "of list and find: a node's path; what is deeper than its children is left out (of "
              "--pattern: they are one node each); repeatable")
      ->type_name("PATH");
  app->add_option("-f,--format", flags->format,
                  "table, or json for programs; of list also yaml: a file for apply (default: "
                  "table)")
      ->type_name("table|json|yaml")
      ->check(CLI::IsMember({"table", "json", "yaml"}).description(""));
  AddDuration(app, "-d,--duration", &flags->capture.duration_ns,
              "of apply and --pattern: end after this long (default: only --ttl limits it)");
  AddDuration(app, "--ttl", &flags->capture.ttl_ns,
              "of apply and --pattern: longest life of the session (default: 1h)");
  app->add_flag("--keep", flags->shown.keep,
                "of apply: the session goes on when this command ends");
  app->add_option("--spans", flags->shown.spans_file,
                  "of apply: write spans there, as `sbumpctl attach --spans` does")
      ->type_name("FILE");
  AddOutput(app, &flags->shown.output);
  app->callback([context, flags] { context->run = [=] { return RunSchedule(*context, *flags); }; });
}

}  // namespace sbump
