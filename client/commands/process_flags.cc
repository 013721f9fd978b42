#include "client/commands/process_flags.h"

#include "client/commands/command.h"
#include "client/limits.h"
#include "daemon/base/str_cat.h"

namespace sbump {

void AddProcessFlags(CLI::App* app, ProcessFlags* flags) {
  AddPid(app, &flags->pid);
  app->add_option("--container", flags->container,
                  "instead of --pid: all processes of the container whose id or name begins so")
      ->type_name("ID");
  app->add_option("--cgroup", flags->cgroup,
                  "instead of --pid: all processes of this cgroup and those below it")
      ->type_name("PATH");
  app->add_option(
         "--exe", flags->exe,
         "instead of --pid: all whose executable fits this glob (without a slash: its base "
         "name)")
      ->type_name("GLOB");
  app->add_option("--cmdline", flags->cmdline,
                  "instead of --pid: all whose arguments, joined by spaces, fit this glob")
      ->type_name("GLOB");
  app->add_flag("-C,--children", flags->children,
                "also what these processes fork, and the Python programs that they execute");
  app->add_option(
         "--max-processes", flags->max_processes,
         StrCat("the most processes at once, up to ", kLargestMaxProcesses, " (default: 64)"))
      ->type_name("N")
      ->check(CLI::Range(1u, kLargestMaxProcesses).description(""));
}

void AddModeFlags(CLI::App* app, ProcessFlags* flags) {
  app->add_option("--mode", flags->mode,
                  "how a thread is delayed: spin (it burns CPU), or sleep (from 1ms on it is held "
                  "and burns none) (default: spin)")
      ->type_name("spin|sleep")
      ->check(CLI::IsMember({"spin", "sleep"}).description(""));
  app->add_option("--on", flags->on,
                  "what of a generator or coroutine is a hit: its start (call), or its start and "
                  "each resumption (resume) (default: call)")
      ->type_name("call|resume")
      ->check(CLI::IsMember({"call", "resume"}).description(""));
}

void AddGuardrailFlags(CLI::App* app, ProcessFlags* flags) {
  app->add_option("--max-rate", flags->max_calls_per_second,
                  "end the session above so many matching calls a second (default: no limit)")
      ->type_name("N");
  app->add_option(
         "--max-duty", flags->max_duty_percent,
         "end it where more than so many percent of the passing time are injected, a whole "
         "number with or without a %; 100 is one thread that is delayed without end "
         "(default: no limit)")
      ->type_name("PERCENT")
      ->transform(WithoutPercentSign)
      ->check(CLI::Range(1u, 100'000u).description(""));
  AddDuration(app, "--max-hold", &flags->max_hold_ns,
              "end it when a thread waited longer than this for new code to be looked at (default: "
              "no limit, but the thread goes on after 50ms, or 100ms once it is being answered)");
}

absl::Status CheckProcessFlags(const ProcessFlags& flags) {
  if (flags.pid == 0 && !flags.HasSelector()) {
    return absl::InvalidArgumentError(
        "no process: name it with --pid, or choose some with --container, --cgroup, --exe or "
        "--cmdline");
  }
  if (flags.pid != 0 && flags.HasSelector()) {
    return absl::InvalidArgumentError(
        "--pid names a process; --container, --cgroup, --exe and --cmdline choose some: give one "
        "or the others");
  }
  return absl::OkStatus();
}

void TakeProcesses(const ProcessFlags& flags, v1::AttachRequest* request) {
  request->set_pid(flags.pid);
  if (flags.HasSelector()) {
    v1::ProcessSelector& selector = *request->mutable_selector();
    selector.set_container(flags.container);
    selector.set_cgroup(flags.cgroup);
    selector.set_exe(flags.exe);
    selector.set_cmdline(flags.cmdline);
  }
  request->set_children(flags.children);
  request->set_max_processes(flags.max_processes);
  request->set_on(flags.on == "resume" ? v1::RESUME : v1::CALL);
  request->set_mode(flags.Sleeps() ? v1::SLEEP : v1::SPIN);
  request->set_max_stop_ns(flags.max_stop_ns.value_or(0));
  request->set_max_calls_per_second(flags.max_calls_per_second);
  request->set_max_duty_percent(flags.max_duty_percent);
  request->set_max_hold_ns(flags.max_hold_ns.value_or(0));
}

}  // namespace sbump
