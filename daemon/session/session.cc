#include "daemon/session/session.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

namespace asio = boost::asio;

// How often ends, execs and calls that were counted by address are looked for.
constexpr auto kTickInterval = std::chrono::milliseconds(50);

// A thread of the target waits for this one: let it run before ordinary ones. Without the right,
// holds are slower.
void RaisePriority(bool raise) {
  sched_param param{};
  param.sched_priority = raise ? 1 : 0;
  pthread_setschedparam(pthread_self(), raise ? SCHED_FIFO : SCHED_OTHER, &param);
}

}  // namespace

struct Session::Loop {
  asio::io_context io{1};
  asio::steady_timer tick{io};
  // Duplicates: Asio closes what it is given.
  asio::posix::stream_descriptor events{io};
  asio::posix::stream_descriptor process{io};
};

Session::Session(std::string id, AttachSpec spec, SessionEnvironment environment)
    : id_(std::move(id)),
      spec_(std::move(spec)),
      environment_(std::move(environment)),
      started_unix_ns_(UnixNs()),
      started_ns_(MonotonicNs()),
      loop_(std::make_unique<Loop>()) {}

Session::~Session() {
  Stop("daemon shutting down");
  if (thread_.joinable()) thread_.join();
}

void Session::Start(std::function<void(absl::Status)> on_end) {
  thread_ = std::thread([this, on_end = std::move(on_end)] { Run(on_end); });
}

void Session::Stop(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    if (stop_reason_.empty()) stop_reason_ = reason;
  }
  loop_->io.stop();
}

std::string Session::StopReason() const {
  std::lock_guard lock(mutex_);
  return stop_reason_;
}

int Session::AddSink(SnapshotSink sink) {
  std::lock_guard lock(mutex_);
  if (latest_ != nullptr) sink(latest_);
  sinks_.emplace_back(next_sink_, std::move(sink));
  return next_sink_++;
}

void Session::RemoveSink(int number) {
  std::lock_guard lock(mutex_);
  std::erase_if(sinks_, [number](const auto& entry) { return entry.first == number; });
}

std::shared_ptr<const Snapshot> Session::latest() const {
  std::lock_guard lock(mutex_);
  return latest_;
}

void Session::ChangeRules(RulesChange change,
                          std::function<void(absl::StatusOr<RulesInForce>)> done) {
  std::unique_lock lock(mutex_);
  if (!takes_changes_) {
    lock.unlock();
    return done(absl::NotFoundError(StrCat("session ", id_, " has ended")));
  }
  asio::post(loop_->io, [this, change = std::move(change), done = std::move(done)] {
    if (!StopReason().empty())
      return done(absl::FailedPreconditionError(StrCat("session ", id_, " is at its end")));
    if (attachment_ == nullptr)
      return done(absl::FailedPreconditionError("the session is not active yet"));
    if (absl::Status status = attachment_->ChangeRules(change); !status.ok()) return done(status);
    Publish(SessionState::kActive, nullptr);
    const Rows& rows = latest()->rows;
    RulesInForce now = {.warnings = attachment_->dose_warnings()};
    now.rows = std::count_if(rows.begin(), rows.end(),
                             [](const auto& row) { return row->pattern != kNoPattern; });
    done(std::move(now));
  });
}

// ---- On the session's thread ----

void Session::Run(std::function<void(absl::Status)> on_end) {
  pthread_setname_np(pthread_self(), "session");
  progress_ = StrCat("studying pid ", spec_.pid);
  Publish(SessionState::kAttaching, nullptr);
  absl::Status status = Live();
  if (!status.ok()) {
    Log(LogLevel::kWarning, "attach_failed",
        {{"pid", spec_.pid}, {"session", id_}, {"why", ToStd(status.message())}});
    // For those who only watch.
    auto end = std::make_shared<SessionEnd>();
    end->reason = std::string(status.message());
    end->failed = true;
    Publish(SessionState::kEnded, std::move(end));
  }
  TakeLastChanges();
  attachment_.reset();
  on_end(status);
}

// From attach to proof. Whatever is thrown (no memory, no file descriptors) ends this session and
// no other.
absl::Status Session::Live() {
  try {
    if (!StopReason().empty()) return absl::CancelledError(StopReason());
    SB_RETURN_IF_ERROR(Attach());
    RunUntilStopped();
    TakeLastChanges();
    Publish(SessionState::kEnded, Finish());
    return absl::OkStatus();
  } catch (const std::exception& error) {
    RaisePriority(false);
    attachment_.reset();
    return absl::ResourceExhaustedError(StrCat("pid ", spec_.pid, ": ", error.what()));
  }
}

// Whoever asked for a change gets an answer, also when the session ended first.
void Session::TakeLastChanges() {
  {
    std::lock_guard lock(mutex_);
    takes_changes_ = false;
  }
  loop_->io.restart();
  loop_->io.poll();
}

absl::Status Session::Attach() {
  absl::StatusOr<std::unique_ptr<Attachment>> attachment =
      Attachment::Prepare(spec_, environment_, id_);
  if (!attachment.ok()) return attachment.status();
  progress_ = "placing probes and walking the heap";
  Publish(SessionState::kAttaching, nullptr);
  // From the first probe on threads of the process wait for this one.
  RaisePriority(true);
  if (absl::Status status = (*attachment)->Activate(started_ns_ + spec_.ttl_ns); !status.ok()) {
    RaisePriority(false);
    return status;
  }
  attachment_ = *std::move(attachment);
  attach_ns_ = MonotonicNs() - started_ns_;
  return absl::OkStatus();
}

void Session::RunUntilStopped() {
  progress_.clear();
  loop_->events.assign(dup(attachment_->event_fd()));
  loop_->process.assign(dup(attachment_->pidfd()));
  WatchEvents();
  WatchProcess();
  asio::post(loop_->io, [this] {
    Publish(SessionState::kActive, nullptr);
    next_publish_ns_ = MonotonicNs() + spec_.interval_ns;
    Log(LogLevel::kInfo, "session_active",
        {{"pid", spec_.pid},
         {"session", id_},
         {"client", spec_.client_name},
         {"targets", latest()->rows.size()},
         {"attach_ms", attach_ns_ / 1'000'000}});
    Tick();
  });
  if (StopReason().empty()) loop_->io.run();
  RaisePriority(false);
  loop_->tick.cancel();
  loop_->events.close();
  loop_->process.close();
}

void Session::WatchEvents() {
  loop_->events.async_wait(asio::posix::stream_descriptor::wait_read,
                           [this](const boost::system::error_code& error) {
                             if (error || !StopReason().empty()) return;
                             attachment_->HandleEvents();
                             WatchEvents();
                           });
}

void Session::WatchProcess() {
  loop_->process.async_wait(asio::posix::stream_descriptor::wait_read,
                            [this](const boost::system::error_code& error) {
                              if (!error) Stop("target exited");
                            });
}

void Session::Tick() {
  // A timer that was cancelled too late still comes here.
  if (!StopReason().empty()) return;
  const uint64_t now_ns = MonotonicNs();
  attachment_->Tidy();
  if (!attachment_->Alive()) return Stop("target exited");
  if (attachment_->Execed()) return Stop("target called exec");
  if (const auto why = attachment_->FailedSelfCheck()) return Stop(*why);
  if (now_ns >= started_ns_ + spec_.ttl_ns) return Stop("ttl over");
  if (spec_.duration_ns != 0 &&
      now_ns >= attachment_->active_since_ns() + spec_.start_ns + spec_.duration_ns) {
    return Stop("duration over");
  }
  if (now_ns >= next_publish_ns_) {
    next_publish_ns_ = std::max(next_publish_ns_ + spec_.interval_ns, now_ns);
    Publish(SessionState::kActive, nullptr);
  }
  const auto until_publish =
      std::chrono::nanoseconds(next_publish_ns_ - std::min(next_publish_ns_, now_ns));
  loop_->tick.expires_after(std::min<std::chrono::nanoseconds>(kTickInterval, until_publish));
  loop_->tick.async_wait([this](const boost::system::error_code& error) {
    if (!error) Tick();
  });
}

std::shared_ptr<const SessionEnd> Session::Finish() {
  auto end = std::make_shared<SessionEnd>();
  end->reason = StopReason();
  end->proof = attachment_->Detach();
  Log(end->proof.links_left + end->proof.fields_left + end->proof.text_bytes_changed == 0
          ? LogLevel::kInfo
          : LogLevel::kError,
      "session_ended",
      {{"pid", spec_.pid},
       {"session", id_},
       {"reason", end->reason},
       {"links_left", end->proof.links_left},
       {"fields_left", end->proof.fields_left},
       {"text_bytes_changed", end->proof.text_bytes_changed}});
  return end;
}

void Session::Publish(SessionState state, std::shared_ptr<const SessionEnd> end) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->session_id = id_;
  snapshot->state = state;
  snapshot->progress = progress_;
  snapshot->process.pid = spec_.pid;
  snapshot->unix_ns = UnixNs();
  snapshot->monotonic_ns = MonotonicNs();
  if (attachment_ != nullptr) attachment_->Describe(*snapshot);
  snapshot->times.attach_ns = attach_ns_;
  if (end != nullptr) {
    auto final_end = std::make_shared<SessionEnd>(*end);
    final_end->no_match = snapshot->rows.empty();
    final_end->no_hits = std::all_of(snapshot->counters.begin(), snapshot->counters.end(),
                                     [](const RowCounters& row) { return row.calls == 0; });
    snapshot->end = std::move(final_end);
  }
  std::lock_guard lock(mutex_);
  latest_ = snapshot;
  for (const auto& [number, sink] : sinks_) sink(snapshot);
}

}  // namespace sbump
