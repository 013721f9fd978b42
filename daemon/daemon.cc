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
#include <mutex>
#include <thread>

#include "daemon/attach/calibration.h"
#include "daemon/attach/link_keeper.h"
#include "daemon/attach/target_lock.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/version.h"
#include "daemon/rpc/control_thread.h"
#include "daemon/rpc/server.h"
#include "daemon/rpc/service.h"
#include "daemon/session/recovery.h"
#include "daemon/session/session_table.h"

namespace sbump {
namespace {

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
uint64_t Calibrate(LinkKeeper& keeper) {
  absl::StatusOr<uint64_t> cost_ns = MeasureTrapCostNs(keeper);
  if (cost_ns.ok()) {
    Log(LogLevel::kInfo, "calibrated", {{"trap_cost_ns", *cost_ns}});
    return *cost_ns;
  }
  Log(LogLevel::kError, "cannot_attach", {{"why", ToStd(cost_ns.status().message())}});
  return 0;
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

// What could not be undone at once (someone else traced the process) is tried again now and then.
class RecoveryTimer {
 public:
  RecoveryTimer(ControlThread& control, const std::string& state_dir, InterpreterFileCache& files)
      : control_(control), state_dir_(state_dir), files_(files), timer_(control.io()) {
    Wait();
  }

 private:
  void Wait() {
    timer_.expires_after(std::chrono::seconds(10));
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      control_.PostWork([this] {
        RetryRecovery(state_dir_, files_);
        control_.Post([this] { Wait(); });
      });
    });
  }

  ControlThread& control_;
  const std::string& state_dir_;
  InterpreterFileCache& files_;
  boost::asio::steady_timer timer_;
};

// Each session needs some thirty: the usual soft limit of 1024 is for select(2), which is not used.
void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
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

}  // namespace

int RunDaemon(const DaemonOptions& options) {
  SetLogLevel(options.log_level);
  if (absl::Status status = MakeStateDir(options.state_dir); !status.ok()) {
    Log(LogLevel::kError, "cannot_start", {{"why", ToStd(status.message())}});
    return 1;
  }
  RaiseFileLimit();
  absl::StatusOr<std::unique_ptr<LinkKeeper>> keeper = LinkKeeper::Start();
  if (!keeper.ok()) {
    Log(LogLevel::kError, "cannot_start", {{"why", ToStd(keeper.status().message())}});
    return 1;
  }
  InterpreterFileCache files;
  Recover(options.state_dir, files);
  TargetLock::RemoveStale();
  ControlThread control;
  std::mutex walk_turn;
  SessionTable table({.files = &files,
                      .walk_turn = &walk_turn,
                      .link_keeper = keeper->get(),
                      .state_dir = options.state_dir,
                      .trap_cost_ns = Calibrate(**keeper)});
  ControlService service(table, control);
  absl::StatusOr<std::unique_ptr<RpcServer>> server = RpcServer::Start(options.listen, &service);
  if (!server.ok()) {
    Log(LogLevel::kError, "cannot_start", {{"why", ToStd(server.status().message())}});
    return 1;
  }
  boost::asio::signal_set signals(control.io(), SIGTERM, SIGINT);
  Watchdog watchdog(control.io());
  auto keep_running = boost::asio::make_work_guard(control.io());
  RecoveryTimer recovery(control, options.state_dir, files);
  std::thread shutdown;
  // The streams need this thread for their last messages, and the workers may be busy: wait
  // elsewhere.
  const auto shut_down = [&] {
    if (shutdown.joinable()) return;
    sd_notify(0, "STOPPING=1");
    shutdown = std::thread([&] {
      table.Shutdown();
      server->reset();
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
  Log(LogLevel::kInfo, "serving",
      {{"version", kVersion}, {"listen", options.listen.front()}, {"pid", getpid()}});
  sd_notify(0, "READY=1");
  control.io().run();
  shutdown.join();
  control.JoinWorkers();
  Log(LogLevel::kInfo, "stopped", {});
  return status;
}

}  // namespace sbump
