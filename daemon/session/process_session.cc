#include "daemon/session/process_session.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"
#include "daemon/process/process_facts.h"
#include "daemon/session/merge.h"

namespace sbump {
namespace {

namespace asio = boost::asio;

// How often execs and calls that were counted by address are looked for.
constexpr auto kTickInterval = std::chrono::milliseconds(50);
constexpr auto kTickIntervalOfMany = std::chrono::milliseconds(250);  // by each of them
// How long an executed program may take until its libpython is mapped, and until that runs; and how
// often it is looked at.
constexpr uint64_t kPatienceWithLoaderNs = 500'000'000;
constexpr uint64_t kPatienceWithStartNs = 5'000'000'000;
constexpr uint64_t kPatienceWithStoppedNs = 10'000'000'000;  // by a signal or a tracer
constexpr auto kLongestPause = std::chrono::milliseconds(5);
constexpr auto kPauseWhileStopped = std::chrono::milliseconds(20);
// How long a process is tried again that was not stopped within the limit.
constexpr uint64_t kPatienceWithStopNs = 5'000'000'000;
constexpr auto kPauseBetweenStops = std::chrono::milliseconds(50);

// A thread of the target waits for this one: let it run before ordinary ones. Without the right,
// holds are slower.
void RaisePriority(bool raise) {
  sched_param param{};
  param.sched_priority = raise ? 1 : 0;
  pthread_setschedparam(pthread_self(), raise ? SCHED_FIFO : SCHED_OTHER, &param);
}

std::string DescribeHold(const PtraceStop& stop) {
  if (stop.is_newborn()) return ", before its first call";
  if (stop.ran_ns() == 0) return ", held meanwhile";
  return StrCat(", held after it ran for ", (stop.ran_ns() + 999) / 1000, "us");
}

}  // namespace

struct ProcessSession::Loop {
  asio::io_context io{1};
  asio::steady_timer tick{io};
  // Duplicates: Asio closes what it is given.
  asio::posix::stream_descriptor events{io};
  asio::posix::stream_descriptor process{io};
};

ProcessSession::ProcessSession(std::string session_id, Origin origin,
                               std::optional<PtraceStop> held, const AttachSpec& spec,
                               const SessionEnvironment& environment,
                               std::shared_ptr<DelayWindow> window, bool opens_window)
    : session_id_(std::move(session_id)),
      origin_(std::move(origin)),
      spec_(spec),
      environment_(environment),
      window_(std::move(window)),
      opens_window_(opens_window),
      started_ns_(MonotonicNs()),
      held_(std::move(held)),
      progress_(StrCat("studying pid ", origin_.process.pid)) {
  Publish(SessionState::kAttaching, nullptr);
}

ProcessSession::~ProcessSession() {
  Stop("daemon shutting down");
  JoinThread();
}

void ProcessSession::Start(Listener listener) {
  listener_ = std::move(listener);
  Quota* const processes = environment_.processes;
  if (processes != nullptr && !(seat_ = processes->Take())) {
    return End(
        absl::ResourceExhaustedError(StrCat("pid ", pid(), ": sbumpd is on ", processes->most(),
                                            " processes already, ", processes->bound())));
  }
  try {
    loop_ = std::make_unique<Loop>();
    SetTakesTasks(true);
    thread_ = std::thread([this] { Run(); });
  } catch (const std::exception& error) {
    End(absl::ResourceExhaustedError(
        StrCat("pid ", pid(), ": sbumpd has no thread or file descriptor left for it (",
               error.what(), "): end other sessions, or raise its limits")));
  }
}

void ProcessSession::JoinThread() {
  if (thread_.joinable()) thread_.join();
}

void ProcessSession::Stop(const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (stop_reason_.empty()) stop_reason_ = reason;
  if (takes_tasks_) loop_->io.stop();
}

void ProcessSession::SetTakesTasks(bool takes_tasks) {
  std::lock_guard lock(mutex_);
  takes_tasks_ = takes_tasks;
}

std::string ProcessSession::StopReason() const {
  std::lock_guard lock(mutex_);
  return stop_reason_;
}

std::shared_ptr<const Snapshot> ProcessSession::latest() const {
  std::lock_guard lock(mutex_);
  return latest_;
}

bool ProcessSession::Post(std::function<void()> task) {
  std::lock_guard lock(mutex_);
  if (takes_tasks_) asio::post(loop_->io, std::move(task));
  return takes_tasks_;
}

void ProcessSession::ChangeRules(RulesChange change,
                                 std::function<void(absl::StatusOr<RulesInForce>)> done) {
  const auto on_thread = [this, change = std::move(change), done] {
    if (!StopReason().empty() || attachment_ == nullptr) {
      return done(absl::FailedPreconditionError(
          StrCat("pid ", pid(), " of session ", session_id_,
                 attachment_ == nullptr ? " is not active yet" : " is at its end")));
    }
    if (absl::Status status = attachment_->ChangeRules(change); !status.ok()) return done(status);
    Publish(SessionState::kActive, nullptr);
    RulesInForce now = InForce(*latest());
    now.warnings = attachment_->dose_warnings();
    done(std::move(now));
  };
  if (!Post(on_thread)) done(absl::NotFoundError(StrCat("pid ", pid(), " has left the session")));
}

void ProcessSession::TakeWindow() {
  Post([this] {
    if (attachment_ != nullptr) attachment_->SetDelayWindow(window_->bounds());
  });
}

void ProcessSession::Refresh(std::function<void()> done) {
  const auto on_thread = [this, done] {
    if (attachment_ != nullptr && StopReason().empty()) Publish(SessionState::kActive, nullptr);
    done();
  };
  if (!Post(on_thread)) done();
}

// ---- On the process's thread ----

void ProcessSession::Run() {
  pthread_setname_np(pthread_self(), "session");
  End(Live());
}

// All that it had of the daemon goes back now: its session may go on for long, with many more.
void ProcessSession::End(const absl::Status& status) {
  if (!status.ok()) {
    // Of those that are followed many end before anything can be done; the session tells the rest.
    Log(origin_.join == Join::kAsked ? LogLevel::kWarning : LogLevel::kDebug, "attach_failed",
        {{"pid", pid()}, {"session", session_id_}, {"why", ToStd(status.message())}});
    // For those who only watch.
    auto end = std::make_shared<SessionEnd>();
    end->reason = std::string(status.message());
    end->failed = true;
    Publish(SessionState::kEnded, std::move(end));
  }
  TakeLastTasks();
  attachment_.reset();
  held_.reset();  // where it ended before it came to that
  loop_.reset();
  seat_.reset();
  listener_.on_end(status);
}

// From attach to proof. Whatever is thrown (no memory, no file descriptors) ends this process's
// part and nothing else.
absl::Status ProcessSession::Live() {
  try {
    if (!StopReason().empty()) return absl::CancelledError(StopReason());
    SB_RETURN_IF_ERROR(Attach());
    RunUntilStopped();
    TakeLastTasks();
    Publish(SessionState::kEnded, Finish());
    return absl::OkStatus();
  } catch (const std::exception& error) {
    RaisePriority(false);
    attachment_.reset();
    return absl::ResourceExhaustedError(StrCat("pid ", pid(), ": ", error.what()));
  }
}

// Whoever asked for something gets an answer, also when the process ended first.
void ProcessSession::TakeLastTasks() {
  SetTakesTasks(false);
  if (loop_ == nullptr) return;
  loop_->io.restart();
  loop_->io.poll();
}

// Where many come at once, one of them may not get the processor that it needs to stop: later,
// then.
absl::Status ProcessSession::Attach() {
  const uint64_t give_up_ns = MonotonicNs() + kPatienceWithStopNs;
  for (auto pause = kPauseBetweenStops;; pause *= 2) {
    const absl::Status status = AttachOnce();
    if (spec_.OneProcess() || !absl::IsDeadlineExceeded(status) || MonotonicNs() > give_up_ns ||
        !StopReason().empty()) {
      return status;
    }
    std::this_thread::sleep_for(pause);
  }
}

absl::Status ProcessSession::AttachOnce() {
  absl::StatusOr<std::unique_ptr<Attachment>> attachment = Prepare();
  if (!attachment.ok()) return attachment.status();
  progress_ = "placing probes and walking the heap";
  Publish(SessionState::kAttaching, nullptr);
  listener_.on_progress();
  // From the first probe on threads of the process wait for this one.
  RaisePriority(true);
  const auto window = [this](uint64_t now_ns) {
    return opens_window_ ? window_->Open(now_ns) : window_->bounds();
  };
  if (absl::Status status = (*attachment)->Activate(window); !status.ok()) {
    RaisePriority(false);
    return status;
  }
  attachment_ = *std::move(attachment);
  stood_still_ = attachment_->stood_still();
  active_since_ns_ = MonotonicNs();
  attach_ns_ = active_since_ns_ - started_ns_;
  return absl::OkStatus();
}

// A program that has just been executed becomes a Python in its own time; none of that passes while
// it is stopped, or while the part for what the process ran before has its lock.
absl::StatusOr<std::unique_ptr<Attachment>> ProcessSession::Prepare() {
  const uint64_t first_ns = MonotonicNs();
  uint64_t begin_ns = first_ns;
  bool was_locked = false;
  for (auto pause = std::chrono::milliseconds(1);; pause = std::min(2 * pause, kLongestPause)) {
    absl::StatusOr<std::unique_ptr<Attachment>> made =
        Attachment::Prepare(origin_.process, spec_, environment_, session_id_, TakeHeld());
    const bool is_locked = absl::IsAlreadyExists(made.status());
    if (std::exchange(was_locked, is_locked) && !is_locked) begin_ns = MonotonicNs();
    // A libpython that is not relocated, or holds no interpreter yet; or none is mapped: most
    // programs never have one.
    const bool starts =
        absl::IsDataLoss(made.status()) || absl::IsFailedPrecondition(made.status()) || is_locked;
    const uint64_t patience_ns = starts                        ? kPatienceWithStartNs
                                 : SaysNoPython(made.status()) ? kPatienceWithLoaderNs
                                                               : 0;
    // A detach may be looking whether what was just forked has copies of armed fields.
    const bool waits =
        origin_.join == Join::kExecuted || (origin_.join == Join::kForked && is_locked);
    if (!waits || MonotonicNs() > begin_ns + patience_ns || !StopReason().empty()) {
      return made;
    }
    const uint64_t now_ns = MonotonicNs();
    if (!is_locked && now_ns < first_ns + kPatienceWithStoppedNs && IsStopped(pid())) {
      begin_ns = now_ns;
      pause = kPauseWhileStopped;
    }
    std::this_thread::sleep_for(pause);
  }
}

// One that could not be held is attached as it runs.
std::optional<PtraceStop> ProcessSession::TakeHeld() {
  std::optional<PtraceStop> held = std::exchange(held_, {});
  if (!held || !held->Await().ok()) return {};
  held_since_ = DescribeHold(*held);
  return held;
}

std::string ProcessSession::JoinedText() const {
  if (origin_.join == Join::kAsked) return "";
  const std::string what = origin_.join == Join::kForked ? "forked" : "executed";
  if (active_since_ns_ == 0) return what;
  return StrCat(what, "; attached after ",
                (active_since_ns_ - std::min(active_since_ns_, origin_.since_ns)) / 1'000'000, "ms",
                stood_still_ ? held_since_ : "");
}

void ProcessSession::RunUntilStopped() {
  progress_.clear();
  loop_->events.assign(dup(attachment_->event_fd()));
  loop_->process.assign(dup(attachment_->pidfd()));
  WatchEvents();
  WatchProcess();
  asio::post(loop_->io, [this] {
    Publish(SessionState::kActive, nullptr);
    Log(LogLevel::kInfo, "process_active",
        {{"pid", pid()},
         {"session", session_id_},
         {"targets", latest()->rows.size()},
         {"attach_ms", attach_ns_ / 1'000'000}});
    listener_.on_active();
    Tick();
  });
  if (StopReason().empty()) loop_->io.run();
  RaisePriority(false);
  loop_->tick.cancel();
  loop_->events.close();
  loop_->process.close();
}

void ProcessSession::WatchEvents() {
  loop_->events.async_wait(asio::posix::stream_descriptor::wait_read,
                           [this](const boost::system::error_code& error) {
                             if (error || !StopReason().empty()) return;
                             attachment_->HandleEvents();
                             WatchEvents();
                           });
}

void ProcessSession::WatchProcess() {
  loop_->process.async_wait(asio::posix::stream_descriptor::wait_read,
                            [this](const boost::system::error_code& error) {
                              if (!error) Stop("target exited");
                            });
}

void ProcessSession::Tick() {
  // A timer that was cancelled too late still comes here.
  if (!StopReason().empty()) return;
  attachment_->Tidy();
  if (!attachment_->Alive()) return Stop("target exited");
  if (attachment_->Execed()) return Stop("target called exec");
  if (const auto why = attachment_->FailedSelfCheck()) return Stop(*why);
  loop_->tick.expires_after(spec_.OneProcess() ? kTickInterval : kTickIntervalOfMany);
  loop_->tick.async_wait([this](const boost::system::error_code& error) {
    if (!error) Tick();
  });
}

std::shared_ptr<const SessionEnd> ProcessSession::Finish() {
  auto end = std::make_shared<SessionEnd>();
  end->reason = StopReason();
  end->proof = attachment_->Detach();
  Log(end->proof.links_left + end->proof.fields_left + end->proof.text_bytes_changed == 0
          ? LogLevel::kInfo
          : LogLevel::kError,
      "process_detached",
      {{"pid", pid()},
       {"session", session_id_},
       {"reason", end->reason},
       {"links_left", end->proof.links_left},
       {"fields_left", end->proof.fields_left},
       {"text_bytes_changed", end->proof.text_bytes_changed}});
  return end;
}

void ProcessSession::Publish(SessionState state, std::shared_ptr<const SessionEnd> end) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->state = state;
  snapshot->progress = progress_;
  snapshot->number = origin_.number;
  snapshot->joined = JoinedText();
  snapshot->parent_pid = origin_.parent_pid;
  snapshot->process.pid = pid();
  snapshot->unix_ns = UnixNs();
  snapshot->monotonic_ns = MonotonicNs();
  if (attachment_ != nullptr) attachment_->Describe(*snapshot);
  snapshot->times.attach_ns = attach_ns_;
  if (active_since_ns_ != 0)
    snapshot->times.active_ns = snapshot->measured_until_ns() - active_since_ns_;
  if (end != nullptr) {
    auto final_end = std::make_shared<SessionEnd>(*end);
    final_end->no_match = snapshot->rows.empty();
    final_end->no_hits = std::all_of(snapshot->counters.begin(), snapshot->counters.end(),
                                     [](const RowCounters& row) { return row.calls == 0; });
    snapshot->end = std::move(final_end);
  }
  std::lock_guard lock(mutex_);
  latest_ = snapshot;
}

}  // namespace sbump
