#include "daemon/daemon.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/attach/calibration.h"
#include "daemon/attach/link_keeper.h"
#include "daemon/attach/process_events.h"
#include "daemon/attach/sleeper.h"
#include "daemon/attach/target_lock.h"
#include "daemon/attach/uprobe_link.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/version.h"
#include "daemon/front/front_door.h"
#include "daemon/gate/gate.h"
#include "daemon/metrics/exporter.h"
#include "daemon/metrics/meters.h"
#include "daemon/process/dead_mans_handle.h"
#include "daemon/process/own_namespaces.h"
#include "daemon/process/target_process.h"
#include "daemon/rpc/blocking_work.h"
#include "daemon/rpc/control_thread.h"
#include "daemon/rpc/experiments_service.h"
#include "daemon/rpc/modules_service.h"
#include "daemon/rpc/servers.h"
#include "daemon/rpc/service.h"
#include "daemon/session/quota.h"
#include "daemon/session/recovery.h"
#include "daemon/session/session_table.h"
#include "daemon/session/walk_turn.h"

namespace sbump {
namespace {

constexpr int kBadPolicy = 3;  // or an audit log that cannot be written

// With what else a start takes, below the 5 s after which the socket is there.
constexpr auto kRecoveryPatience = std::chrono::seconds(3);
// In all: above what a full house of sessions takes, below the unit's TimeoutStopSec.
constexpr auto kLastRecovery = std::chrono::seconds(5);
constexpr ShutdownPatience kShutdownPatience = {.in_all = std::chrono::seconds(75),
                                                .without_progress = std::chrono::seconds(15)};

absl::Status MakeStateDir(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return ErrnoStatus(errno, StrCat("--state-dir ", path));
  struct stat st;
  if (stat(path.c_str(), &st) != 0) return ErrnoStatus(errno, StrCat("--state-dir ", path));
  if (!S_ISDIR(st.st_mode))
    return absl::InvalidArgumentError(StrCat("--state-dir ", path, " is no directory"));
  // Others must not plant journals: they say what is written into processes.
  if (st.st_uid != geteuid() || (st.st_mode & 0022) != 0) {
    return absl::PermissionDeniedError(StrCat("--state-dir ", path,
                                              " can be written by others: chown it to this user "
                                              "and chmod it 0700"));
  }
  return absl::OkStatus();
}

// Without rights or features the daemon serves all the same: the doctor and the refusals say what
// is missing.
void Calibrate(Calibration& calibration, LinkKeeper& keeper) {
  if (const absl::Status begun = calibration.Begin(keeper); !begun.ok()) {
    Log(LogLevel::kError, "cannot_attach", {{"why", ToStd(begun.message())}});
    return;
  }
  const TrapCosts costs = calibration.costs();
  Log(LogLevel::kInfo, "calibrated",
      {{"trap_cost_ns", costs.emulated_ns},
       {"inlined_trap_cost_ns", costs.inlined_ns},
       {"stepped_trap_cost_ns", costs.stepped_ns}});
}

void Recover(const std::string& state_dir, InterpreterFileCache& files) {
  const RecoveryResult result = RecoverJournals(state_dir, files);
  if (result.processes + result.gone + result.failed == 0) return;
  Log(LogLevel::kInfo, "recovery",
      {{"processes", result.processes},
       {"gone", result.gone},
       {"fields_restored", result.fields_restored},
       {"failed", result.failed}});
}

// What could not be undone at once is tried again: now and then (someone else traced the process),
// and soon after a session's end (it held the process, or what that had forked).
class RecoveryTimer {
 public:
  RecoveryTimer(ControlThread& control, BlockingWork& blocking, const std::string& state_dir,
                InterpreterFileCache& files)
      : control_(control),
        blocking_(blocking),
        state_dir_(state_dir),
        files_(files),
        timer_(control.io()) {
    Wait();
  }

  // From any thread.
  void TrySoon() {
    control_.Post([this] {
      soon_ = true;
      if (waits_) Wait();
    });
  }

 private:
  static constexpr std::chrono::milliseconds kSoon{100}, kNowAndThen{10'000};
  // The next try passes by the journal that one which does not end has claimed. Each keeps its
  // thread, of BlockingWork::kMost: most of them are for requests.
  static constexpr size_t kMostThreads = 8;

  void Wait() {
    waits_ = true;
    timer_.expires_after(std::exchange(soon_, false) ? kSoon : kNowAndThen);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) Retry();
    });
  }
  void Retry() {
    waits_ = false;
    if (blocking_.running() >= kMostThreads) return Wait();
    const auto retry = [this] {
      RetryRecovery(state_dir_, files_);
      return [this] { PostWait(); };
    };
    blocking_.Start(retry, [this](const absl::Status& status) {
      if (!absl::IsUnavailable(status))  // the daemon ends
        Log(LogLevel::kError, "recovery_waits", {{"why", ToStd(status.message())}});
      PostWait();
    });
  }
  void PostWait() {
    control_.Post([this] { Wait(); });
  }

  ControlThread& control_;
  BlockingWork& blocking_;
  const std::string& state_dir_;
  InterpreterFileCache& files_;
  boost::asio::steady_timer timer_;
  bool waits_ = false;  // both on the control thread
  bool soon_ = false;
};

// Returns the most files that the daemon has open now. The usual soft limit of 1024 is for
// select(2), which is not used.
uint64_t RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  return setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

int CannotStart(const absl::Status& status) {
  Log(LogLevel::kError, "cannot_start", {{"why", ToStd(status.message())}});
  return 1;
}

// Before anything is served. Some thread may still wait for a process's memory, with what is here.
int EndEarly(const BlockingWork& blocking, int status) {
  if (blocking.running() != 0) _exit(status);
  return status;
}

void LogServing(const DaemonOptions& options) {
  std::string listen;
  for (const std::string& endpoint : options.front.listen)
    listen += (listen.empty() ? "" : ",") + endpoint;
  Log(LogLevel::kInfo, "serving",
      {{"version", kVersion},
       {"listen", listen},
       {"metrics", options.metrics.empty() ? "none" : options.metrics},
       {"pid", getpid()}});
}

// Sessions that do not end, since their processes' memory does not answer. What they hold goes with
// this process, as after a kill: the keeper takes the probes away, the kernel ends stops, and the
// next daemon undoes what the journals say.
[[noreturn]] void LeaveBehind(const std::vector<std::string>& sessions) {
  for (const std::string& id : sessions) {
    Log(LogLevel::kError, "session_left_behind",
        {{"session", id}, {"why", "its process's memory does not answer"}});
  }
  _exit(1);
}

// systemd's watchdog, when the unit asks for one: the control thread is alive.
class Watchdog {
 public:
  explicit Watchdog(boost::asio::io_context& io) : timer_(io) {
    uint64_t limit_us = 0;
    if (sd_watchdog_enabled(0, &limit_us) > 0) interval_ = std::chrono::microseconds(limit_us / 3);
    if (interval_.count() != 0) Feed();
  }

 private:
  void Feed() {
    sd_notify(0, "WATCHDOG=1");
    timer_.expires_after(interval_);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) Feed();
    });
  }
  boost::asio::steady_timer timer_;
  std::chrono::microseconds interval_{0};
};

// SIGHUP: takes files anew, on a worker.
class Reloader {
 public:
  Reloader(ControlThread& control, boost::asio::signal_set& hangups, Gate& gate, FrontDoor& door)
      : control_(control), gate_(gate), door_(door), hangups_(hangups) {
    Wait();
  }

 private:
  void Wait() {
    hangups_.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      control_.PostWork([this] {
        gate_.Reload();
        if (const absl::Status status = door_.Reload(); !status.ok())
          Log(LogLevel::kError, "tls_not_reloaded", {{"why", ToStd(status.message())}});
      });
      Wait();
    });
  }
  ControlThread& control_;
  Gate& gate_;
  FrontDoor& door_;
  boost::asio::signal_set& hangups_;
};

}  // namespace

int RunDaemon(const DaemonOptions& options) {
  SetLogLevel(options.log_level);
  if (absl::Status status = CheckOwnNamespaces(); !status.ok()) return CannotStart(status);
  if (absl::Status status = MakeStateDir(options.state_dir); !status.ok())
    return CannotStart(status);
  const uint64_t open_files = RaiseFileLimit();
  absl::StatusOr<std::unique_ptr<LinkKeeper>> keeper =
      LinkKeeper::Start(DeadMansHandle::timer_fd());
  if (!keeper.ok()) return CannotStart(keeper.status());
  SetOwnHelper((*keeper)->id().pid);
  InterpreterFileCache files;
  ControlThread control;
  BlockingWork blocking(control);
  // A process whose memory or files do not answer must not keep the daemon from all the others.
  if (!blocking.Within(kRecoveryPatience, [&] { Recover(options.state_dir, files); }))
    Log(LogLevel::kError, "recovery_waits", {{"why", "it was not over within 3 s"}});
  TargetLock::RemoveStale();
  Meters meters;
  Calibration calibration;
  Calibrate(calibration, **keeper);
  // After the recovery, which a mistake in a file must not keep from its work.
  absl::StatusOr<std::unique_ptr<Gate>> gate = Gate::Open(options.gate, meters);
  if (!gate.ok()) {
    CannotStart(gate.status());
    return EndEarly(blocking, kBadPolicy);
  }
  RecoveryTimer recovery(control, blocking, options.state_dir, files);
  WalkTurn walk_turn;
  ProcessEvents process_events;
  Sleeper sleeper;
  Quota processes = ProcessesWith(open_files, UprobeMultiWorks());
  Quota clean_links(kMostCleanLinks);
  SessionTable table({.files = &files,
                      .walk_turn = &walk_turn,
                      .link_keeper = keeper->get(),
                      .sleeper = &sleeper,
                      .process_events = &process_events,
                      .processes = &processes,
                      .clean_links = &clean_links,
                      .state_dir = options.state_dir,
                      .calibration = &calibration},
                     [&recovery] { recovery.TrySoon(); });
  Connections connections;
  absl::StatusOr<std::unique_ptr<RpcServers>> servers = RpcServers::Start([&] {
    RpcServers::Services services;
    services.push_back(
        std::make_unique<ControlService>(table, control, blocking, connections, **gate));
    services.push_back(
        std::make_unique<ModulesService>(table, control, blocking, connections, **gate));
    services.push_back(std::make_unique<ExperimentsService>(table, control, connections, **gate));
    return services;
  });
  if (!servers.ok()) return EndEarly(blocking, CannotStart(servers.status()));
  std::unique_ptr<Exporter> exporter;
  if (!options.metrics.empty()) {
    absl::StatusOr<std::unique_ptr<Exporter>> started =
        Exporter::Start(options.metrics, options.metrics_any, meters,
                        {.sessions = [&table] { return table.All().size(); },
                         .connections = [&connections] { return connections.size(); },
                         .keeper = (*keeper)->id().pid});
    if (!started.ok()) return EndEarly(blocking, CannotStart(started.status()));
    exporter = *std::move(started);
  }
  // Before anybody can know that the daemon is there.
  boost::asio::signal_set signals(control.io(), SIGTERM, SIGINT);
  boost::asio::signal_set hangups(control.io(), SIGHUP);
  absl::StatusOr<std::unique_ptr<FrontDoor>> door = FrontDoor::Open(
      options.front, connections,
      [&](Fd connection, const Caller& caller) {
        (*servers)->HandOver(std::move(connection), (*gate)->RoleOf(caller));
      },
      [&meters] { ++meters.tls_failures; });
  if (!door.ok()) return EndEarly(blocking, CannotStart(door.status()));
  Reloader reloader(control, hangups, **gate, **door);
  Watchdog watchdog(control.io());
  auto keep_running = boost::asio::make_work_guard(control.io());
  std::thread shutdown;
  // The streams need this thread for their last messages, and the workers may be busy: wait
  // elsewhere.
  const auto shut_down = [&] {
    if (shutdown.joinable()) return;
    sd_notify(0, "STOPPING=1");
    shutdown = std::thread([&] {
      const std::vector<std::string> left = table.Shutdown(kShutdownPatience);
      if (!left.empty()) {
        (*door)->Close();
        LeaveBehind(left);
      }
      (*gate)->EndWatches(absl::UnavailableError("the daemon is shutting down"));
      // What was kept for processes that these sessions were on.
      blocking.Within(kLastRecovery, [&] { RetryRecovery(options.state_dir, files); });
      blocking.GiveUpAll();
      (*servers)->Stop();
      (*door)->Close();
      control.Post([&] { control.io().stop(); });
    });
  };
  signals.async_wait([&](const boost::system::error_code& error, int signal) {
    if (error) return;
    Log(LogLevel::kInfo, "stopping", {{"signal", signal}});
    shut_down();
  });
  // Without it no probe can be placed, and those that were are gone.
  int status = 0;
  boost::asio::posix::stream_descriptor keeper_end(control.io(), dup((*keeper)->pidfd()));
  keeper_end.async_wait(
      boost::asio::posix::stream_descriptor::wait_read,
      [&](const boost::system::error_code& error) {
        if (error) return;
        Log(LogLevel::kError, "stopping", {{"why", "the process that keeps the probes has ended"}});
        status = 1;
        shut_down();
      });
  LogServing(options);
  sd_notify(0, "READY=1");
  control.io().run();
  shutdown.join();
  control.JoinWorkers();
  Log(LogLevel::kInfo, "stopped", {{"threads_left_behind", blocking.running()}});
  // They wait for some process's memory, and only the end of this process ends that.
  if (blocking.running() != 0) _exit(status);
  return status;
}

}  // namespace sbump
