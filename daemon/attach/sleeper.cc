#include "daemon/attach/sleeper.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "daemon/attach/wake_latency.h"
#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/process/dead_mans_handle.h"
#include "daemon/process/pending_signals.h"
#include "daemon/process/seized_thread.h"

namespace sbump {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC
using std::chrono::nanoseconds;

// How often a thread that is held is looked at: has it ended, is there a signal for it?
constexpr uint64_t kLookEveryNs = 10'000'000;
// One that has not stopped yet, at the end of its delay.
constexpr uint64_t kShortestPauseNs = 20'000;
constexpr uint64_t kLongestPauseNs = 5'000'000;

void BecomeFirst() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  pthread_setname_np(pthread_self(), "sleeper");
  prctl(PR_SET_TIMERSLACK, 1000);  // ns; where the right to the priority is missing
  sched_param param{};
  param.sched_priority = 2;
  pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
}

// Only a thread of that process, whatever the request says. Looked for in /proc: to ask by signal 0
// would take the right to signal other users' processes.
int SeizeOf(const TargetProcess& process, pid_t tid) {
  const std::string task = StrCat("task/", tid);
  if (tid <= 0 || faccessat(process.proc_dirfd(), task.c_str(), F_OK, 0) != 0) return ESRCH;
  return SeizedThread::Seize(tid);
}

// With the session, before the delay is over.
bool EndsEarly(const sb_sleep_request& request) {
  return request.wake_ns + request.trap_cost_ns < request.begun_ns + request.delay_ns;
}

}  // namespace

class Sleeper::Impl {
 public:
  Impl() : work_(asio::make_work_guard(io_)) {
    thread_ = std::thread([this] {
      BecomeFirst();
      io_.run();
    });
  }
  ~Impl() {
    Run([this] { look_.cancel(); });
    work_.reset();
    thread_.join();
  }

  asio::io_context& io() { return io_; }
  // The thread's only.
  WakeLatency& latency() { return latency_; }

  // Runs it on the thread, and waits. What it throws (no file descriptor) is thrown here.
  void Run(const std::function<void()>& task) {
    std::promise<void> done;
    asio::post(io_, [&] {
      try {
        task();
        done.set_value();
      } catch (const std::exception&) {
        done.set_exception(std::current_exception());
      }
    });
    done.get_future().get();
  }

  // On the thread. One that was interrupted and has not stopped yet can only be let go when it
  // does, or it stands for as long as this thread lives.
  void LetGoWhenItStops(const SeizedThread& thread) {
    leavers_.push_back(thread);
    LookAtLeavers();
  }

 private:
  void LookAtLeavers() {
    std::erase_if(leavers_, [](SeizedThread& thread) {
      const SeizedThread::State state = thread.Look();
      return state == SeizedThread::State::kEnded ||
             (state == SeizedThread::State::kStopped && thread.Detach());
    });
    if (leavers_.empty()) return;
    look_.expires_after(nanoseconds(kLookEveryNs));
    look_.async_wait([this](const boost::system::error_code& error) {
      if (!error) LookAtLeavers();
    });
  }

  asio::io_context io_{1};
  WakeLatency latency_;
  // The thread's only.
  std::vector<SeizedThread> leavers_;
  asio::steady_timer look_{io_};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

class Sleeper::Room : public Sleeper::Sleepers {
 public:
  Room(Impl& impl, const TargetProcess& process, Programs& programs)
      : impl_(impl), process_(process), programs_(programs), requests_(impl.io()) {
    impl_.Run([this] {
      requests_.assign(dup(programs_.sleep_request_fd()));
      Watch();
    });
  }

  ~Room() override {
    Pause();
    impl_.Run([this] {
      requests_.close();
      for (const auto& [sequence, held] : held_) impl_.LetGoWhenItStops(held.thread);
      held_.clear();
    });
    impl_.Run([] {});  // what was on its way when the descriptor was closed
  }

  void Pause() override {
    const auto empty = std::make_shared<std::promise<void>>();
    impl_.Run([&] {
      paused_ = true;
      when_empty_ = empty;
      std::vector<uint64_t> sequences;
      for (const auto& [sequence, held] : held_) sequences.push_back(sequence);
      for (uint64_t sequence : sequences) LookAt(sequence);
      TellIfEmpty();
    });
    // A thread that does not stop cannot be let go: whoever wants to stop it will tell.
    constexpr auto kPatience = std::chrono::seconds(1);
    empty->get_future().wait_for(kPatience);
  }

  void Resume() override {
    impl_.Run([this] { paused_ = false; });
  }

  std::vector<Slept> Take() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(slept_, {});
  }

 private:
  struct Held {
    Held(asio::io_context& io, const sb_sleep_request& request)
        : request(request),
          thread(static_cast<pid_t>(request.tid)),
          timer(io),
          promise(request.wake_ns) {}
    const sb_sleep_request request;
    SeizedThread thread;
    asio::steady_timer timer;
    DeadMansHandle::Promise promise;
    uint64_t due_ns = 0;  // of the timer
    uint64_t pause_ns = kShortestPauseNs;
    bool cut_short = false;
    bool is_ours = false;  // the delay, to account for
  };

  void Watch() {
    requests_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code& error) {
                           if (error) return;
                           programs_.ConsumeSleepRequests(
                               [this](const sb_sleep_request& request) { Hold(request); });
                           Watch();
                         });
  }

  void Hold(const sb_sleep_request& request) {
    if (paused_ || !programs_.ClaimBed(request)) return;
    if (SeizeOf(process_, static_cast<pid_t>(request.tid)) != 0) {
      programs_.ReturnBed(request);
      return;
    }
    LookLater(held_.try_emplace(request.sequence, impl_.io(), request).first->second);
  }

  // The timer needs the latency to fire, and the thread to run: it is let go that much earlier.
  void LookLater(Held& held) {
    const uint64_t now_ns = MonotonicNs();
    const uint64_t let_go_ns = LetGoNs(held);
    held.due_ns = std::clamp(let_go_ns - impl_.latency().ns(), now_ns, now_ns + kLookEveryNs);
    if (now_ns >= let_go_ns || held.cut_short) {
      held.due_ns = now_ns + held.pause_ns;
      held.pause_ns = std::min(2 * held.pause_ns, kLongestPauseNs);
    }
    held.timer.expires_at(Clock::time_point(nanoseconds(held.due_ns)));
    held.timer.async_wait(
        [this, sequence = held.request.sequence](const boost::system::error_code& error) {
          if (!error) OnTimer(sequence);
        });
  }

  uint64_t LetGoNs(const Held& held) const { return held.request.wake_ns - impl_.latency().ns(); }

  void OnTimer(uint64_t sequence) {
    const auto found = held_.find(sequence);
    if (found == held_.end()) return;  // a timer that was cancelled too late
    impl_.latency().Note(found->second.due_ns, MonotonicNs());
    AwaitSoon(LetGoNs(found->second));
    LookAt(sequence);
  }

  // The timer came early by what it was not late. Those that fire meanwhile are, and say nothing.
  void AwaitSoon(uint64_t let_go_ns) {
    uint64_t now_ns = MonotonicNs();
    if (now_ns >= let_go_ns || let_go_ns - now_ns > WakeLatency::kLongestNs) return;
    while (now_ns < let_go_ns) now_ns = MonotonicNs();
    impl_.latency().WasBusyUntil(now_ns);
  }

  void LookAt(uint64_t sequence) {
    const auto found = held_.find(sequence);
    if (found == held_.end()) return;
    Held& held = found->second;
    const SeizedThread::State state = held.thread.Look();
    const bool is_over = MonotonicNs() >= LetGoNs(held);
    if (!is_over && (paused_ || HasSignalToTake(process_, held.thread.tid())))
      held.cut_short = true;
    if (state == SeizedThread::State::kRunning) {
      // Not held yet (its cgroup may be frozen): no promise is broken.
      if (is_over) held.promise.Change(MonotonicNs());
      return LookLater(held);
    }
    if (state == SeizedThread::State::kStopped && !is_over && !held.cut_short)
      return LookLater(held);
    // Before the thread runs: it may ask for the next delay at once.
    held.is_ours = programs_.ReturnBed(held.request) || held.is_ours;
    if (state == SeizedThread::State::kStopped) {
      if (!held.thread.Detach()) return LookLater(held);  // killed: its process waits for our look
      if (held.is_ours) Note(held);
    }
    held_.erase(found);
    TellIfEmpty();
  }

  void Note(const Held& held) {
    const sb_sleep_request& request = held.request;
    const uint64_t runs_ns = MonotonicNs() + impl_.latency().ns();
    const uint64_t injected_ns = runs_ns - request.begun_ns + request.trap_cost_ns;
    const std::lock_guard lock(mutex_);
    slept_.push_back({.slot = request.slot,
                      .delay_ns = request.delay_ns,
                      .injected_ns = injected_ns,
                      .cut_short = held.cut_short || EndsEarly(request)});
  }

  void TellIfEmpty() {
    if (when_empty_ == nullptr || !held_.empty()) return;
    std::exchange(when_empty_, nullptr)->set_value();
  }

  Impl& impl_;
  const TargetProcess& process_;
  Programs& programs_;
  // The thread's only.
  asio::posix::stream_descriptor requests_;
  std::map<uint64_t, Held> held_;  // by the request's sequence
  bool paused_ = false;
  std::shared_ptr<std::promise<void>> when_empty_;

  std::mutex mutex_;
  std::vector<Slept> slept_;  // guarded by mutex_
};

Sleeper::Sleeper() : impl_(std::make_unique<Impl>()) {}
Sleeper::~Sleeper() = default;

std::unique_ptr<Sleeper::Sleepers> Sleeper::Serve(const TargetProcess& process,
                                                  Programs& programs) {
  return std::make_unique<Room>(*impl_, process, programs);
}

}  // namespace sbump
