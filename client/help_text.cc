#include "client/help_text.h"

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr Example kRootExamples[] = {
    {"What would these patterns hit?", "sbumpctl match --pid 1234 --targets targets.txt"},
    {"Slow them by 10 microseconds a call for half a minute",
     "sbumpctl attach --pid 1234 --targets targets.txt --delay 10us --duration 30s"},
    {"Why does it not attach?", "sbumpctl doctor --pid 1234"},
};

constexpr Example kAttachExamples[] = {
    {"Slow every method of one class, until Ctrl-C",
     "sbumpctl attach --pid 1234 --target '*/vllm/worker/*:ModelRunner.*' --delay 10us"},
    {"Count calls only (a sham run: what the tool itself costs)",
     "sbumpctl attach 1234 --targets targets.txt --delay 0 --duration 10s"},
    {"Every third call, after five seconds, for scripts",
     "sbumpctl attach -p 1234 --targets t.txt --delay 1.5ms --every 3 --start 5s -d 30s "
     "--format json -o run.ndjson"},
    {"A session that outlives this command, for ten minutes at most",
     "sbumpctl attach -p 1234 --targets t.txt --delay 10us --keep --ttl 10m"},
    {"A service and all its workers, old and new",
     "sbumpctl attach --pid 1234 --children --targets t.txt --delay 10us"},
    {"All Python processes of a container",
     "sbumpctl attach --container 4c5e --targets t.txt --delay 10us"},
    {"Functions of libraries, with Python or without",
     "sbumpctl attach -p 1234 --native libc.so.6:write --native '*/libssl.so*:SSL_read' --delay "
     "50us"},
    {"Patterns from a pipe, less some",
     "grep Attention all.txt | sbumpctl attach -p 1234 --targets - --exclude '*:*.__init__' "
     "--delay 2us"},
};

constexpr Example kMatchExamples[] = {
    {"Everything loaded from one package", "sbumpctl match -p 1234 --target 'torch.nn.*:*'"},
    {"For scripts: one JSON object", "sbumpctl match -p 1234 --targets targets.txt --format json"},
};

constexpr Example kModulesExamples[] = {
    {"The whole model", "sbumpctl modules --pid 1234"},
    {"The attention of two layers",
     "sbumpctl modules -p 1234 --module 're:top\\.layers\\.(3|4)\\..*attn'"},
    {"What becomes of it, until Ctrl-C", "sbumpctl modules -p 1234 --watch"},
    {"Every Linear, for scripts", "sbumpctl modules -p 1234 --module type:Linear --format json"},
};

constexpr Example kSpansExamples[] = {
    {"What each module takes, over 20 forwards", "sbumpctl spans --pid 1234 --forwards 20"},
    {"A trace for ui.perfetto.dev", "sbumpctl spans -p 1234 --forwards 20 -o trace.json"},
    {"The attention alone, with shapes, for scripts",
     "sbumpctl spans -p 1234 --module '*.attn' --forwards 5 --format jsonl"},
};

constexpr Example kGraphExamples[] = {
    {"The operators and modules of a forward, and who takes what", "sbumpctl graph --pid 1234"},
    {"A picture", "sbumpctl graph -p 1234 -o graph.dot; dot -Tsvg graph.dot > graph.svg"},
    {"With the blocks of the model as nodes",
     "sbumpctl graph -p 1234 --leaf '*DecoderLayer' --format json"},
    {"One layer, operators only", "sbumpctl graph -p 1234 --of top.layers.0 --no-leaf"},
    {"Of one layer what it is made of, without what that is made of",
     "sbumpctl graph -p 1234 --until layers.0"},
};

constexpr Example kScheduleExamples[] = {
    {"The nodes of a model", "sbumpctl schedule list --pid 1234"},
    {"All query and key projections, as (parent, node)",
     "sbumpctl schedule find '(q|k)_proj$' -p 1234"},
    {"Attention that is written out, in the graph of 20 forwards",
     "sbumpctl schedule find --pattern 'matmul > div > add > softmax' -p 1234"},
    {"What a file says, for half a minute",
     "sbumpctl schedule apply slow.yaml -p 1234 --duration 30s"},
    {"What sessions do at the process now, as such a file",
     "sbumpctl schedule list -p 1234 --format yaml"},
};

constexpr Example kSweepExamples[] = {
    {"Do these functions decide how often Engine.step runs?",
     "sbumpctl sweep --pid 1234 --targets t.txt --metric calls:'*:Engine.step'"},
    {"Two parts of the program, in two minutes, without being asked",
     "sbumpctl sweep -p 1234 --group parse='*/parser.py:*' --group store='*/db.py:*' --metric "
     "calls:'*:handle' --budget 2m --yes"},
};

constexpr Example kRankExamples[] = {
    {"What decides how often Engine.step runs?",
     "sbumpctl rank --pid 1234 --metric calls:'*:Engine.step'"},
    {"Which layers of a model, by a counter of the service, kept in a file",
     "sbumpctl rank -p 1234 --by module --metric "
     "prom:'http://127.0.0.1:8000/metrics#vllm:generation_tokens_total' --yes -o rank.sbump"},
};

constexpr Example kReportExamples[] = {
    {"What a run said, with small plots", "sbumpctl report run.sbump"},
    {"A page to hand on", "sbumpctl report run.sbump --html run.html"},
    {"In the viewer of another causal profiler",
     "sbumpctl report run.sbump --coz profile.coz; coz plot"},
};

constexpr Example kCompareExamples[] = {
    {"Did the change move what decides the pace?", "sbumpctl compare before.sbump after.sbump"},
};

constexpr Example kListExamples[] = {{"All sessions of this machine", "sbumpctl list"}};

constexpr Example kWatchExamples[] = {
    {"Look over somebody's shoulder", "sbumpctl watch s7"},
    {"Record what happens from now on", "sbumpctl watch s7 --format json -o s7.ndjson"},
};

constexpr Example kUpdateExamples[] = {
    {"Twice the dose", "sbumpctl update s7 --delay 20us"},
    {"Other targets, the same dose", "sbumpctl update s7 --targets other.txt"},
};

constexpr Example kDetachExamples[] = {
    {"One session", "sbumpctl detach s7"},
    {"Whoever holds this process", "sbumpctl detach --pid 1234"},
    {"Leave nothing behind on this machine", "sbumpctl detach --all"},
};

constexpr Example kDoctorExamples[] = {
    {"Is this machine fit?", "sbumpctl doctor"},
    {"Is this process, and what would a call cost?", "sbumpctl doctor --pid 1234"},
};

constexpr Example kVersionExamples[] = {{"Without asking the daemon", "sbumpctl version --client"}};

constexpr Example kContextsExamples[] = {
    {"One of them, and all of them", "sbumpctl --context gpu-1 list; sbumpctl --all-contexts list"},
};

constexpr Example kCompletionsExamples[] = {
    {"For this shell", "source <(sbumpctl completions bash)"},
    {"For good, with zsh",
     "sbumpctl completions zsh > /usr/local/share/zsh/site-functions/_sbumpctl"},
};

constexpr CommandText kTexts[] = {
    {"", "slow chosen functions of running Python programs, and see what happens",
     "sbumpctl asks sbumpd, the daemon, to attach to a running CPython process, to delay chosen "
     "functions by an exact dose, and to tell what happened. Nothing is imported, injected or "
     "restarted; functions that do not match run at full speed.",
     kRootExamples},
    {"attach", "slow chosen functions of a process until Ctrl-C, or for a time",
     "Attaches to one process, or to several whose delays begin together, and shows what happens: "
     "on a terminal a table that refreshes, "
     "elsewhere appended text, with --format json one SessionUpdate a line. Ends on Ctrl-C or "
     "SIGTERM, after --duration, or with the process, with a summary and the proof that nothing "
     "was "
     "left in the process. A second Ctrl-C gives up waiting for them.\n"
     "\n"
     "A pattern is `module:qualname`: two shell globs, the first over the file name or the dotted "
     "module name, the second over the qualified name. A pattern may end in overrides: "
     "`*:Engine.step @delay=20us @every=3`. Durations are a number and a unit: ns, us, ms, s, m, "
     "h.\n"
     "\n"
     "--native names functions outside Python: `libc.so.6:write`, "
     "`*/libfoo.so*:ns::Class::step(*)`, "
     "`/opt/x/libx.so+0x1139`. Alone it needs no Python in the process.\n"
     "\n"
     "Where a flag is absent, Speed Bump's environment variables are read: see ENVIRONMENT.",
     kAttachExamples},
    {"match", "show which loaded functions patterns would hit; slows nothing",
     "Walks the live process and prints each code object that a pattern matches, then each pattern "
     "with near misses where it matched nothing. The process is stopped for the walk; how long is "
     "printed.",
     kMatchExamples},
    {"modules", "show the live module tree of a PyTorch model",
     "Reads the modules of the running process as named_modules(prefix=\"top\") would list them, "
     "with "
     "their parameters, buffers and settings. Nothing is stopped, called or changed. Of several "
     "models the largest is `top`, further ones are `top#2`, `top#3`.\n"
     "\n"
     "--root looks at the instances of another class instead: any tree of Python objects.",
     kModulesExamples},
    {"spans", "time each call of a PyTorch model's modules, with shapes",
     "Attaches to the process and tells each call of a module from begin to end, by the clock "
     "CLOCK_MONOTONIC: how modules nest, the dims of the tensors that go in and come out, and "
     "whether it raised. No hook is registered, nothing is compiled anew, and when the command "
     "ends nothing is left behind.\n"
     "\n"
     "A forward is an outermost call of the topmost module that --module takes (default: of all "
     "modules, so the model itself).",
     kSpansExamples},
    {"graph", "show the graph of operators and modules that forwards of a model made",
     "Captures forwards of the running model: each call of a module, each operator that they call "
     "by themselves, and which tensor one gave and another took. Prints nodes with the names of "
     "torch.fx, edges, and of each node the module within which it was called. Nothing is traced, "
     "compiled or called in the process.\n"
     "\n"
     "Modules of torch.nn are one node each (except Sequential). An edge is told when 90% of the "
     "forwards with these nodes have it: tensors are known by their addresses, which are used "
     "again. What was not seen is said.",
     kGraphExamples},
    {"schedule", "see a model as a schedule: what is done at each of its modules",
     "A schedule is the tree of a model's modules with what sbump does at each. The nodes are "
     "named "
     "as slapo.schedule names them: lists of modules are no nodes of their own (`layers.0`), and "
     "what is within a module of torch.nn is left out. The program itself is never changed.\n"
     "\n"
     "A file for `apply` is YAML or JSON: `version: 1`, and below `schedule` entries of a `module` "
     "(a pattern as of `attach --module`) and primitives. `list --format yaml` writes what "
     "sessions "
     "do at the process now as such a file. docs/modules.md has the format.",
     kScheduleExamples},
    {"sweep", "measure whether targets decide how fast work is done",
     "Slows the targets by several doses in random order, with windows without delay in between, "
     "and measures what that does to a metric of work. Criticality is the time that is lost for "
     "each unit of time injected: 0 is hidden, 1 is on the critical path. Each answer has a 95% "
     "interval and a verdict: it matters, it does not matter, or that is undecided and what it "
     "would take.\n"
     "\n"
     "First it looks how much the work's pace varies by itself, and how soon it settles after a "
     "step "
     "by the largest dose, for a second or two. Then it shows a plan with its time and the "
     "slowdown "
     "to expect, and asks. Ctrl-C ends it with what is known until then. "
     "docs/method.md says what the numbers mean, and what they cannot tell.",
     kSweepExamples},
    {"rank", "find what decides the pace: test all that is called, open what matters",
     "Looks at what is called, without delays, and groups it by package, module, class "
     "and function (--by module: by the modules of a model; --group: as you say). All groups are "
     "tested as `sweep` "
     "does, those with an effect are opened and their parts tested, and so on as far as --budget "
     "allows. It ends with a list, and the first that matters is tested once more, alone.\n"
     "\n"
     "The plan of the first experiment is shown, and asked for. Ctrl-C ends it with what is known "
     "until then. A group without effect is not opened; whether something in it could matter by "
     "itself is said. docs/method.md says what the numbers mean.",
     kRankExamples},
    {"report", "say again what a kept run said, as table, page, JSON or Coz profile",
     "Computes everything again from the recorded windows of a file that `sweep` or `rank` kept "
     "(--output), "
     "with the seed that it had: no daemon is asked. The table comes with small plots: criticality "
     "with intervals, and what each dose did to the time per unit. --html writes one page of HTML "
     "that needs neither network nor script.\n"
     "\n"
     "--coz writes a profile that `coz plot` opens (lower its \"Minimum Points\" for runs of few "
     "blocks). Its axis is virtual speedup, so each slowdown is mirrored: what is shown is a gain "
     "at most, and \"line speedup\" is a share of the time per unit. docs/sbump-file.md has the "
     "format of the file and more on this.",
     kReportExamples},
    {"compare", "say how two kept runs differ in what matters",
     "For each group that both runs have: both criticalities, their difference with a 95% "
     "interval, "
     "and what that means. Runs by other metrics cannot be compared; where a unit of work takes "
     "far "
     "longer in one of them, a warning says so.",
     kCompareExamples},
    {"list", "list the sessions of this daemon", "", kListExamples},
    {"watch", "show a running session; never keeps it alive",
     "Prints the updates of a session, whoever began it, from now to its end. Ctrl-C ends the "
     "watching, not the session.",
     kWatchExamples},
    {"update", "change a running session without a new attach",
     "What is not named stays as it is. New targets replace all the old ones.", kUpdateExamples},
    {"detach", "end sessions, and prove that nothing was left behind", "", kDetachExamples},
    {"doctor", "say whether sbump can work here, or on a process, and why not",
     "Without a pid: kernel, rights, daemon. With one: the interpreter and how it was found, its "
     "version, where the offsets come from, the probe's site, and what a call would cost.",
     kDoctorExamples},
    {"contexts", "list the daemons that the configuration file names",
     "The file is $SBUMP_CONFIG, else sbump/config.yaml below $XDG_CONFIG_HOME or ~/.config:\n"
     "\n"
     "`current: here`, `contexts:`, then a line for each: `here: {endpoint: "
     "\"unix:/run/sbumpd/sbumpd.sock\"}`, `gpu-1: {endpoint: \"gpu-1.example:7443\", tls_ca: "
     "ca.pem, "
     "tls_cert: me.pem, tls_key: me.key}`. Paths start where the file is.",
     kContextsExamples},
    {"version", "print the versions of sbumpctl and sbumpd", "", kVersionExamples},
    {"help", "show help on a command", "", {}},
    {"completions", "print shell completions", "", kCompletionsExamples},
    {"generate-man", "write the man pages", "", {}},
};

constexpr NamedText kEnvironment[] = {
    {"SBUMP_ENDPOINT", "where the daemon listens, as --endpoint"},
    {"SBUMP_CONFIG", "the file with named daemons (contexts)"},
    {"NO_COLOR, CLICOLOR, CLICOLOR_FORCE",
     "colours off (NO_COLOR set, or CLICOLOR=0), or on without a terminal (CLICOLOR_FORCE=1)"},
    {"SPEED_BUMP_TARGETS",
     "path of a targets file, unless --targets or --target is given (attach, as the four below; "
     "sweep, unless there is a group)"},
    {"SPEED_BUMP_DELAY_NS", "a bare number of nanoseconds, as --delay"},
    {"SPEED_BUMP_FREQUENCY", "delay every Nth call, as --every"},
    {"SPEED_BUMP_START_MS", "a bare number of milliseconds, as --start"},
    {"SPEED_BUMP_DURATION_MS", "a bare number of milliseconds, as --duration; 0: no limit"},
};

// Those that stand before Speed Bump's.
constexpr size_t kGeneralVariables = 3;

constexpr NamedText kFiles[] = {
    {"/run/sbumpd/sbumpd.sock", "the daemon's socket, unless told otherwise"},
    {"~/.config/sbump/config.yaml", "daemons by name: see sbumpctl-contexts(1)"},
};

}  // namespace

CommandText TextOf(std::string_view command) {
  for (const CommandText& text : kTexts) {
    if (text.name == command) return text;
  }
  return {command, "", "", {}};
}

std::span<const NamedText> EnvironmentTexts(std::string_view command) {
  const bool all = command.empty() || command == "attach";
  return all ? std::span(kEnvironment) : std::span(kEnvironment).first(kGeneralVariables);
}
std::span<const NamedText> FileTexts() { return kFiles; }

std::string AsSentence(std::string_view summary) {
  std::string sentence = StrCat(summary, ".");
  if (sentence[0] >= 'a' && sentence[0] <= 'z')
    sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
  return sentence;
}

}  // namespace sbump
