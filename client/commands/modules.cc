#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

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

// Waits, until a signal comes.
class Pause {
 public:
  Pause(Interrupt& interrupt, ControlClient& client) : interrupt_(interrupt) {
    interrupt.Watch([this, &client](int count) {
      if (count >= kSignalsToDieAtOnce) _exit(static_cast<int>(ExitCode::kError));
      {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
        changed_.notify_all();
      }
      client.CancelAll();
    });
  }
  ~Pause() { interrupt_.StopWatching(); }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

  bool IsOver() {
    const std::lock_guard lock(mutex_);
    return is_over_;
  }
  // False: there was a signal.
  bool Wait(std::chrono::nanoseconds time) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, time, [this] { return is_over_; });
  }

 private:
  static constexpr int kSignalsToDieAtOnce = 3;
  Interrupt& interrupt_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;  // guarded by mutex_
};

// A process that has no module (yet, or any more) has an empty tree. Nothing: its objects changed
// while they were read.
absl::StatusOr<std::optional<v1::ListModulesReply>> LookAgain(ControlClient& client,
                                                              const ModulesFlags& flags) {
  absl::StatusOr<v1::ListModulesReply> reply = client.ListModules(RequestOf(flags));
  if (reply.ok()) return *std::move(reply);
  if (absl::IsFailedPrecondition(reply.status())) return v1::ListModulesReply();
  if (absl::IsAborted(reply.status())) return std::nullopt;
  return reply.status();
}

ExitCode WatchModules(const CommandContext& context, const ModulesFlags& flags) {
  const std::chrono::nanoseconds interval(flags.interval_ns.value_or(1'000'000'000));
  Interrupt interrupt;
  const auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kProcess);
  Pause pause(interrupt, **client);
  v1::ListModulesReply before;
  bool is_first = true;
  do {
    auto now = LookAgain(**client, flags);
    if (!now.ok() && pause.IsOver()) break;
    if (!now.ok()) return Fail(now.status(), Subject::kProcess);
    if (!*now) continue;
    const v1::ModulesChange change = ChangeBetween(before, **now);
    std::string text;
    if (std::exchange(is_first, false))
      text = Render(context, **now, flags.json);
    else if (!IsEmpty(change))
      text = flags.json ? JsonLine(change) : ChangeText(change, PaletteFor(context, STDOUT_FILENO));
    if (const ExitCode code = Print(text); code != ExitCode::kOk) return code;
    before = **std::move(now);
  } while (pause.Wait(interval));
  return ExitCode::kOk;
}

ExitCode RunModules(const CommandContext& context, const ModulesFlags& flags) {
  if (flags.interval_ns && !flags.watch)
    return Fail(ExitCode::kBadArguments, "--interval is the time between looks of --watch");
  if (flags.interval_ns && *flags.interval_ns < kMinIntervalNs) {
    return Fail(ExitCode::kBadArguments,
                StrCat("--interval ", FormatDuration(*flags.interval_ns), ": the shortest is ",
                       FormatDuration(kMinIntervalNs)));
  }
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
  AddDuration(app, "--max-stop", &flags->max_stop_ns,
              "longest time that the process may be stopped where its objects keep changing while "
              "they are read (default: never)");
  app->add_flag("-w,--watch", flags->watch,
                "then go on, and tell which modules appear (+), vanish (-) or change (~), until "
                "Ctrl-C");
  AddDuration(app, "--interval", &flags->interval_ns,
              "time between looks of --watch (default: 1s)");
  AddFormat(app, &flags->json, "tree");
  app->callback([context, flags] { context->run = [=] { return RunModules(*context, *flags); }; });
}

}  // namespace sbump
