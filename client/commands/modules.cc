#include <unistd.h>

#include <atomic>

#include "client/commands/command.h"
#include "client/interrupt.h"
#include "client/json_output.h"
#include "client/limits.h"
#include "client/modules_change.h"
#include "client/modules_view.h"
#include "client/output_file.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000, kHourNs = 3600 * kSecondNs;

struct ModulesFlags {
  int32_t pid = 0;
  std::vector<std::string> patterns;
  std::string root;
  CallableFlags callables;
  std::optional<std::string> prefix;
  std::vector<std::string> skip_types;
  bool no_skip = false;
  std::optional<uint64_t> max_stop_ns;
  bool watch = false;
  std::optional<uint64_t> interval_ns;
  bool json = false;
};

std::string Render(const CommandContext& context, const v1::ListModulesReply& reply, bool json) {
  if (json) return JsonLine(reply);
  const size_t width = IsTerminal(STDOUT_FILENO) ? SizeOf(STDOUT_FILENO).columns : kUnlimitedWidth;
  return ModulesText(reply, PaletteFor(context, STDOUT_FILENO), width);
}

v1::ListModulesRequest RequestOf(const ModulesFlags& flags) {
  v1::ListModulesRequest request =
      TreeRequest(flags.pid, flags.root, flags.prefix, flags.callables);
  for (const std::string& pattern : flags.patterns) request.add_patterns(pattern);
  for (const std::string& type : flags.skip_types) request.add_skip_types(type);
  request.set_no_default_skip_types(flags.no_skip);
  request.set_max_stop_ns(flags.max_stop_ns.value_or(0));
  return request;
}

// Ends a client's calls when a signal comes.
class EndOfWatch {
 public:
  EndOfWatch(Interrupt& interrupt, ControlClient& client) : interrupt_(interrupt) {
    interrupt.Watch([this, &client](int count) {
      if (count >= kSignalsToDieAtOnce) _exit(static_cast<int>(ExitCode::kError));
      has_come_ = true;
      client.CancelAll();
    });
  }
  ~EndOfWatch() { interrupt_.StopWatching(); }
  EndOfWatch(const EndOfWatch&) = delete;
  EndOfWatch& operator=(const EndOfWatch&) = delete;

  bool has_come() const { return has_come_; }

 private:
  static constexpr int kSignalsToDieAtOnce = 3;
  Interrupt& interrupt_;
  std::atomic<bool> has_come_ = false;
};

bool IsPiece(const v1::ModulesUpdate& update) {
  return update.has_change() ? update.change().more() : update.modules().more();
}

// Of all pieces.
std::string Render(const CommandContext& context, v1::ModulesUpdate& update, bool json) {
  if (!update.has_change()) {
    update.mutable_modules()->set_more(false);
    return Render(context, update.modules(), json);
  }
  update.mutable_change()->set_more(false);
  if (json) return JsonLine(update.change());
  return ChangeText(update.change(), PaletteFor(context, STDOUT_FILENO));
}

ExitCode WatchModules(const CommandContext& context, const ModulesFlags& flags) {
  Interrupt interrupt;
  const auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kProcess);
  const EndOfWatch end(interrupt, **client);
  v1::WatchModulesRequest request;
  *request.mutable_tree() = RequestOf(flags);
  request.set_interval_ns(flags.interval_ns.value_or(0));
  const std::unique_ptr<ModulesStream> stream = (*client)->WatchModules(request);
  ExitCode printed = ExitCode::kOk;
  v1::ModulesUpdate piece, update;
  bool complete = true;
  while (printed == ExitCode::kOk && stream->Read(&piece)) {
    update.MergeFrom(piece);
    complete = !IsPiece(piece);
    if (!complete) continue;
    printed = Print(Render(context, update, flags.json));
    update.Clear();
  }
  if (printed != ExitCode::kOk) (*client)->CancelAll();
  const absl::Status status = stream->Finish();
  if (printed != ExitCode::kOk || end.has_come()) return printed;
  if (!status.ok()) return Fail(status, Subject::kProcess);
  if (complete) return ExitCode::kOk;
  return Fail(ExitCode::kError, "the daemon's answer ended before its last piece");
}

absl::Status CheckInterval(const ModulesFlags& flags) {
  if (!flags.interval_ns) return absl::OkStatus();
  if (!flags.watch)
    return absl::InvalidArgumentError("--interval is the time between looks of --watch");
  const uint64_t shortest_ns = flags.max_stop_ns.value_or(0) == 0 ? kMinIntervalNs : kSecondNs;
  const std::string given = StrCat("--interval ", FormatDuration(*flags.interval_ns), ": ");
  if (*flags.interval_ns < shortest_ns) {
    return absl::InvalidArgumentError(StrCat(given, "the shortest is ", FormatDuration(shortest_ns),
                                             shortest_ns == kSecondNs ? " with --max-stop" : ""));
  }
  if (*flags.interval_ns > kHourNs)
    return absl::InvalidArgumentError(StrCat(given, "the longest is ", FormatDuration(kHourNs)));
  return absl::OkStatus();
}

ExitCode RunModules(const CommandContext& context, const ModulesFlags& flags) {
  if (const absl::Status status = CheckInterval(flags); !status.ok())
    return Fail(ExitCode::kBadArguments, ToStd(status.message()));
  if (flags.watch) return WatchModules(context, flags);
  const auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kProcess);
  const absl::StatusOr<v1::ListModulesReply> reply = (*client)->ListModules(RequestOf(flags));
  if (!reply.ok()) return Fail(reply.status(), Subject::kProcess);
  const bool nothing = reply->modules().empty();
  const ExitCode code =
      Print(Render(context, *reply, flags.json), nothing ? ExitCode::kNoMatch : ExitCode::kOk);
  if (nothing) Say("no module is matched by --module");
  return code;
}

}  // namespace

void AddModules(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "modules");
  const auto flags = std::make_shared<ModulesFlags>();
  AddPid(app, &flags->pid)->required();
  AddRepeated(app, "--module", &flags->patterns,
              "only these: a glob over paths, `re:REGEX` from the path's begin on, or `type:GLOB`; "
              "repeatable")
      ->type_name("PATTERN");
  app->add_option("--prefix", flags->prefix, "the path of the model itself (default: top)")
      ->type_name("NAME");
  app->add_option("--root", flags->root,
                  "the class whose instances are modules (default: torch.nn.Module)")
      ->type_name("PACKAGE.MODULE.CLASS");
  AddCallableFlags(app, &flags->callables);
  AddRepeated(app, "--skip-type", &flags->skip_types,
              "a class to mark as skipped, beside Identity and Dropout; repeatable")
      ->type_name("TYPE");
  app->add_flag("--no-skip", flags->no_skip, "do not mark Identity and Dropout as skipped");
  AddTreeStop(app, &flags->max_stop_ns);
  app->add_flag("-w,--watch", flags->watch,
                "then go on, and tell which modules appear (+), vanish (-) or change (~), until "
                "Ctrl-C");
  AddDuration(app, "--interval", &flags->interval_ns,
              "time between looks of --watch: 50ms to 1h, with --max-stop 1s to 1h (default: 1s)");
  AddFormat(app, &flags->json, "tree");
  app->callback([context, flags] { context->run = [=] { return RunModules(*context, *flags); }; });
}

}  // namespace sbump
