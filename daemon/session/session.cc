#include "daemon/session/session.h"

#include <pthread.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "daemon/attach/uprobe_link.h"
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"
#include "daemon/session/merge.h"
#include "daemon/session/recovery.h"

namespace sbump {
namespace {

namespace asio = boost::asio;

// How often the ends of duration and ttl are looked for.
constexpr uint64_t kTickNs = 50'000'000;
// A process that does not answer (it is in a stop) holds nobody's figures up for longer.
constexpr auto kLongestRefresh = std::chrono::milliseconds(500);

SessionEnvironment WithOwn(SessionEnvironment environment, ProgramReserve* reserve,
                           std::atomic<uint64_t>* native_search_ns) {
  environment.program_reserve = reserve;
  environment.native_search_ns = native_search_ns;
  return environment;
}

}  // namespace

struct Session::Loop {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(io);
  asio::steady_timer tick{io};
  asio::steady_timer refresh{io};
};

Session::Session(std::string id, AttachSpec spec, SessionEnvironment environment)
    : id_(std::move(id)),
      spec_(std::move(spec)),
      environment_(WithOwn(std::move(environment), spec_.children ? &program_reserve_ : nullptr,
                           &native_search_ns_)),
      started_unix_ns_(UnixNs()),
      started_ns_(MonotonicNs()),
      window_(std::make_shared<DelayWindow>(spec_.start_ns, spec_.duration_ns,
                                            started_ns_ + spec_.ttl_ns)),
      spec_in_force_(spec_),
      guard_(spec_.guardrails),
      loop_(std::make_unique<Loop>()) {
  rules_ = spec_.rules;
  if (spec_.pid != 0) held_.insert(spec_.pid);
}

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
    if (!stop_reason_.empty()) return;
    stop_reason_ = reason;
  }
  Post([this, reason] { StopMembers(reason); });
}

std::string Session::StopReason() const {
  std::lock_guard lock(mutex_);
  return stop_reason_;
}

// Runs it on the session's thread; false where that takes nothing any more.
bool Session::Post(std::function<void()> task) {
  std::lock_guard lock(mutex_);
  if (takes_tasks_) asio::post(loop_->io, std::move(task));
  return takes_tasks_;
}

int Session::AddSink(SnapshotSink sink) {
  std::lock_guard lock(sinks_mutex_);
  if (const auto snapshot = latest(); snapshot != nullptr) sink(snapshot);
  sinks_.emplace_back(next_sink_, std::move(sink));
  return next_sink_++;
}

void Session::RemoveSink(int number) {
  std::lock_guard lock(sinks_mutex_);
  std::erase_if(sinks_, [number](const auto& entry) { return entry.first == number; });
}

std::shared_ptr<const SessionSnapshot> Session::latest() const {
  std::lock_guard lock(mutex_);
  return latest_;
}

bool Session::Holds(pid_t pid) const {
  std::lock_guard lock(held_mutex_);
  return held_.contains(pid);
}

// ---- On the session's thread ----

void Session::Run(const std::function<void(absl::Status)>& on_end) {
  pthread_setname_np(pthread_self(), "session-group");
  absl::Status status = Begin();
  if (status.ok()) {
    RunLoop();
    if (!attached_) status = first_failure_;
  }
  Finish(status);
  on_end(status);
}

// What is thrown (no memory) ends this session, in order, and no other.
void Session::RunLoop() {
  while (true) {
    try {
      loop_->io.run();
      return;
    } catch (const std::exception& error) {
      Stop(StrCat("the daemon's resources are exhausted: ", error.what()));
    }
  }
}

void Session::Finish(const absl::Status& status) {
  left_ = true;
  UnfollowChildren();
  program_reserve_.Close();
  {
    std::lock_guard lock(mutex_);
    takes_tasks_ = false;
  }
  // Whoever asked for a change gets an answer.
  loop_->work.reset();
  loop_->io.restart();
  loop_->io.poll();
  if (spec_.children) {
    std::set<pid_t> pids;
    for (const Member& member : members_) pids.insert(member.process->pid());
    RecoverMembers(environment_.state_dir, pids, *environment_.files);
  }
  auto end = std::make_shared<SessionEnd>(
      MergeEnds(LatestOfEach(), status.ok() ? StopReason() : std::string(status.message())));
  end->failed = !status.ok();
  Publish(SessionState::kEnded, std::move(end));
  AnswerRefreshes();
  members_.clear();
  if (spec_.spans) spec_.spans->hub->Finish();
}

absl::Status Session::Begin() {
  std::vector<TargetId> processes = {FindRunning(spec_.pid).value_or(TargetId{.pid = spec_.pid})};
  if (spec_.pid == 0) {
    SB_ASSIGN_OR_RETURN(processes,
                        SelectProcesses(spec_.selector, spec_.max_processes, spec_.sees));
  }
  spec_in_force_.many_processes = processes.size() > kMostCleanProcesses && UprobeMultiWorks();
  for (const TargetId& process : processes) Add({.process = process});
  if (spec_.children) SB_RETURN_IF_ERROR(FollowChildren());
  takes_newborns_ = true;
  WaitForTick();
  return absl::OkStatus();
}

void Session::Add(ProcessSession::Origin origin, std::optional<PtraceStop> held) {
  const size_t index = members_.size();
  origin.number = index;
  const bool alone = spec_.pid != 0 && !spec_.children;
  members_.push_back(
      {.process = std::make_unique<ProcessSession>(id_, std::move(origin), std::move(held),
                                                   spec_in_force_, environment_, window_,
                                                   /*opens_window=*/alone),
       .rules = spec_in_force_.rules});
  room_ = Room();
  ProcessSession& process = *members_.back().process;
  {
    std::lock_guard lock(held_mutex_);
    held_.insert(process.pid());
  }
  if (!active_) Publish(SessionState::kAttaching, nullptr);
  process.Start({.on_progress =
                     [this] {
                       Post([this] {
                         if (!active_) Publish(SessionState::kAttaching, nullptr);
                       });
                     },
                 .on_active = [this, index] { Post([this, index] { OnActive(index); }); },
                 .on_end =
                     [this, index](absl::Status status) {
                       Post([this, index, status = std::move(status)] { OnEnd(index, status); });
                     }});
}

bool Session::AnyIn(SessionState state) const {
  return std::any_of(members_.begin(), members_.end(),
                     [state](const Member& member) { return member.state == state; });
}

// One that was there when the session began. What comes later is waited for by nobody: a process
// that forks all the time would never let its session begin.
bool Session::AnyAwaited() const {
  return std::any_of(members_.begin(), members_.end(), [](const Member& member) {
    return member.state == SessionState::kAttaching &&
           member.process->origin().join == ProcessSession::Join::kAsked;
  });
}

bool Session::IsOver() const {
  return !AnyIn(SessionState::kAttaching) && !AnyIn(SessionState::kActive);
}

bool Session::IsOverForGood() { return IsOver() && !(StopReason().empty() && AnyFollowedRuns()); }

void Session::OnActive(size_t member) {
  members_[member].state = SessionState::kActive;
  if (const std::string reason = StopReason(); !reason.empty())
    return members_[member].process->Stop(reason);
  CatchUp(members_[member]);
  if (active_) {
    next_publish_ns_ = std::min(next_publish_ns_, MonotonicNs() + kTickNs);
  } else if (!AnyAwaited()) {
    BeActive();
  } else {
    Publish(SessionState::kAttaching, nullptr);
  }
}

// All that could be attached are: their delays begin together.
void Session::BeActive() {
  if (!StopReason().empty()) return;
  active_ = true;
  window_->Open(MonotonicNs());
  for (const Member& member : members_) member.process->TakeWindow();
  attach_ns_ = MonotonicNs() - started_ns_;
  Publish(SessionState::kActive, nullptr);
  guard_.Judge(MonotonicNs(), *latest());  // from here on
  next_publish_ns_ = MonotonicNs() + interval_ns_;
  Log(LogLevel::kInfo, "session_active",
      {{"pid", members_.front().process->pid()},
       {"session", id_},
       {"client", spec_.client_name},
       {"processes", members_.size()},
       {"attach_ms", attach_ns_ / 1'000'000}});
}

void Session::OnEnd(size_t index, const absl::Status& status) {
  Member& member = members_[index];
  const pid_t pid = member.process->pid();
  member.state = SessionState::kEnded;
  room_ = Room();
  // A member for what it executed may have it already.
  member.process->JoinThread();
  const bool goes_on = std::any_of(members_.begin(), members_.end(), [pid](const Member& other) {
    return other.state != SessionState::kEnded && other.process->pid() == pid;
  });
  if (!goes_on) {
    std::lock_guard lock(held_mutex_);
    held_.erase(pid);
  }
  attached_ |= status.ok();
  member.is_shown = !LeavesOut(member, status);
  if (absl::IsAlreadyExists(status)) CameTooSoon(member);
  if (!status.ok() && first_failure_.ok()) first_failure_ = status;
  if (const auto last = member.process->latest(); status.ok()) last_end_ = last->end->reason;
  if (member.executed && !member.has_successor && StopReason().empty())
    AddExecuted(ProcessEvent(*member.executed));
  if (IsOverForGood()) return LeaveIfOver();
  if (!active_ && !AnyAwaited()) BeActive();
}

// What was forked before its parent was disarmed carries copies of the armed fields, and may not
// have been told yet.
void Session::LeaveIfOver() {
  if (left_ || draining_ || !IsOverForGood()) return;
  if (!follower_) return LeaveLoop();
  draining_ = true;
  environment_.process_events->Drain(*follower_, [this] {
    Post([this] {
      draining_ = false;
      if (IsOverForGood()) LeaveLoop();
    });
  });
}

void Session::LeaveLoop() {
  left_ = true;
  {
    std::lock_guard lock(mutex_);
    if (stop_reason_.empty()) stop_reason_ = last_end_.empty() ? "target exited" : last_end_;
  }
  loop_->io.stop();
}

void Session::StopMembers(const std::string& reason) {
  for (const Member& member : members_) {
    if (!MayCarryCopies(member)) member.process->Stop(reason);
  }
  LeaveIfOver();
}

void Session::WaitForTick() {
  const uint64_t now_ns = MonotonicNs();
  const uint64_t wait_ns =
      active_ ? std::min(kTickNs, next_publish_ns_ - std::min(next_publish_ns_, now_ns)) : kTickNs;
  loop_->tick.expires_after(std::chrono::nanoseconds(wait_ns));
  loop_->tick.async_wait([this](const boost::system::error_code& error) {
    if (!error) Tick();
  });
}

void Session::Tick() {
  if (!StopReason().empty()) return;
  const uint64_t now_ns = MonotonicNs();
  const DelayWindow::Bounds window = window_->bounds();
  if (now_ns >= started_ns_ + spec_.ttl_ns) return Stop("ttl over");
  if (spec_.duration_ns != 0 && window.until_ns != 0 && now_ns >= window.until_ns) {
    return Stop("duration over");
  }
  LeaveIfOver();
  if (active_ && now_ns >= next_publish_ns_) {
    next_publish_ns_ = std::max(next_publish_ns_ + interval_ns_, now_ns);
    RefreshAndPublish();
  }
  WaitForTick();
}

// ---- Figures ----

void Session::Refresh(std::function<void(std::shared_ptr<const SessionSnapshot>)> done) {
  const bool is_taken = Post([this, done] {
    awaiting_refresh_.push_back(done);
    RefreshAndPublish();
  });
  if (!is_taken) done(latest());
}

void Session::AnswerRefreshes() {
  for (const auto& done : std::exchange(awaiting_refresh_, {})) done(latest());
}

// Asks each process for its figures and publishes when all have answered.
void Session::RefreshAndPublish() {
  const uint64_t number = ++refresh_number_;
  refreshing_ = 1;
  for (const Member& member : members_) {
    if (member.state != SessionState::kActive) continue;
    ++refreshing_;
    member.process->Refresh([this, number] { Post([this, number] { Refreshed(number); }); });
  }
  loop_->refresh.expires_after(kLongestRefresh);
  loop_->refresh.async_wait([this, number](const boost::system::error_code& error) {
    if (error || number != refresh_number_ || refreshing_ == 0) return;
    refreshing_ = 1;
    Refreshed(number);
  });
  Refreshed(number);
}

void Session::Refreshed(uint64_t number) {
  if (number != refresh_number_ || refreshing_ == 0 || --refreshing_ != 0) return;
  loop_->refresh.cancel();
  if (!StopReason().empty()) return;
  Publish(active_ ? SessionState::kActive : SessionState::kAttaching, nullptr);
  AnswerRefreshes();
  if (const auto reason = guard_.Judge(MonotonicNs(), *latest()); active_ && reason) Stop(*reason);
}

}  // namespace sbump
