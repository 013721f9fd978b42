// The part of a session that follows its processes' forks and execs.
#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/process/process_facts.h"
#include "daemon/session/session.h"

namespace sbump {
namespace {

// A process that was just forked stops within microseconds, or is not waited for.
constexpr uint64_t kPatienceWithNewbornNs = 20'000'000;

}  // namespace

absl::Status Session::FollowChildren() {
  ProcessEvents& events = *environment_.process_events;
  SB_ASSIGN_OR_RETURN(follower_,
                      events.AddFollower([this](const ProcessEvent& event) { HearOf(event); }));
  events_lost_before_ = events.lost();
  // What a process forks from here on is told; then look who is there already, until nobody is new.
  std::vector<pid_t> todo;
  for (const Member& member : members_)
    if (NoteFollowed(member.process->id())) todo.push_back(member.process->pid());
  while (!todo.empty()) {
    std::vector<pid_t> found;
    for (pid_t pid : todo) SB_RETURN_IF_ERROR(events.Follow(*follower_, pid));
    for (pid_t pid : todo) {
      SB_ASSIGN_OR_RETURN(const std::vector<TargetId> children, DescendantsOf(pid));
      for (const TargetId& child : children) {
        if (!NoteFollowed(child)) continue;
        found.push_back(child.pid);
        AddFollowed({.process = child});
      }
    }
    todo = std::move(found);
  }
  return absl::OkStatus();
}

void Session::UnfollowChildren() {
  if (follower_) environment_.process_events->RemoveFollower(*follower_);
}

// Native functions need no stop, and may take long to find: longer than a newborn may be held. Half
// of that is for the rest.
bool Session::AttachesQuickly() const {
  if (!spec_.rules.modules->targets.empty()) return false;  // as long
  if (spec_.rules.natives->empty()) return true;
  const uint64_t search_ns = native_search_ns_;
  return spec_.rules.TakesPython() && search_ns != 0 && search_ns <= spec_.max_stop_ns / 2;
}

// On the thread that hears of it first: each hop to another one would let a newborn run on.
void Session::HearOf(const ProcessEvent& event) {
  const bool holds = event.kind == ProcessEvent::Kind::kForked && !event.shares_memory &&
                     takes_newborns_ && newborns_ < room_ && AttachesQuickly();
  if (!holds) {
    Post([this, event] { OnProcessEvent(event, {}); });
    return;
  }
  const uint64_t patience_ns = std::min(kPatienceWithNewbornNs, spec_.max_stop_ns);
  auto stop = PtraceStop::StopNewborn(event.process, std::chrono::nanoseconds(patience_ns),
                                      std::chrono::nanoseconds(spec_.max_stop_ns - patience_ns));
  const auto held = std::make_shared<std::optional<PtraceStop>>();
  if (stop.ok()) *held = *std::move(stop);
  ++newborns_;
  Post([this, event, held] {
    OnProcessEvent(event, std::exchange(*held, {}));
    --newborns_;
  });
}

void Session::OnProcessEvent(const ProcessEvent& event, std::optional<PtraceStop> held) {
  // At its end a session takes in only what carries copies of armed fields, to disarm it.
  const bool ends = !StopReason().empty();
  if (ends && (event.kind == ProcessEvent::Kind::kExecuted || IsDisarmedParent(event))) return;
  NoteFollowed(event.process);
  // The last one: an earlier one may be at its end, after another exec.
  const auto live = std::find_if(members_.rbegin(), members_.rend(), [&](const Member& member) {
    return member.state != SessionState::kEnded && member.process->id() == event.process;
  });
  if (event.kind == ProcessEvent::Kind::kForked) {
    // One that was there when all were listed, or that has no memory of its own yet.
    if (live != members_.rend() || event.shares_memory) return;
    return AddFollowed({.process = event.process,
                        .join = ProcessSession::Join::kForked,
                        .parent_pid = event.parent_pid,
                        .since_ns = event.at_ns},
                       std::move(held));
  }
  // Another program, judged anew: by a new member.
  if (live != members_.rend()) {
    live->executed = event;
    live->has_successor = true;
    live->process->Stop("target called exec");
  }
  AddExecuted(event);
}

// Forked, and not known to be disarmed: it is attached to the end, also where the session ends.
bool Session::MayCarryCopies(const Member& member) {
  return member.state == SessionState::kAttaching &&
         member.process->origin().join == ProcessSession::Join::kForked;
}

bool Session::IsDisarmedParent(const ProcessEvent& fork) const {
  const auto parent = std::find_if(members_.rbegin(), members_.rend(), [&](const Member& member) {
    return member.process->pid() == fork.parent_pid;
  });
  return parent != members_.rend() && parent->state == SessionState::kEnded &&
         parent->process->latest()->monotonic_ns < fork.at_ns;
}

// Where the process was followed already it waits until that one lets go of it.
void Session::AddExecuted(const ProcessEvent& exec) {
  AddFollowed(
      {.process = exec.process, .join = ProcessSession::Join::kExecuted, .since_ns = exec.at_ns});
}

// The part for what its process ran before took long to let go of it: another one, when it has.
void Session::CameTooSoon(Member& member) {
  for (Member& before : members_) {
    const bool is_its = before.state != SessionState::kEnded && before.has_successor &&
                        before.process->pid() == member.process->pid();
    if (!is_its) continue;
    before.has_successor = false;
    member.is_shown = false;
  }
}

size_t Session::Room() const {
  const auto free = [](size_t most, size_t taken) { return most - std::min(most, taken); };
  const auto live = std::count_if(members_.begin(), members_.end(), [](const Member& member) {
    return member.state != SessionState::kEnded && !member.has_successor;
  });
  return std::min(free(spec_.max_processes, static_cast<size_t>(live)),
                  free(environment_.most_processes_ever, members_.size()));
}

void Session::AddFollowed(ProcessSession::Origin origin, std::optional<PtraceStop> held) {
  if (Room() != 0) return Add(std::move(origin), std::move(held));
  ++(members_.size() < environment_.most_processes_ever ? left_out_.beyond_most
                                                        : left_out_.beyond_ever);
}

// Whether a process that never became active is left out of the session, which goes on without it.
bool Session::LeavesOut(const Member& member, const absl::Status& status) {
  const bool was_named = spec_.pid != 0 && !spec_.children;
  if (status.ok() || was_named) return false;
  if (SaysNoPython(status)) {
    ++left_out_.without_python;
    return true;
  }
  const bool followed = member.process->origin().join != ProcessSession::Join::kAsked;
  if (FindRunning(member.process->pid()) != member.process->id() ||
      (followed && (absl::IsNotFound(status) || member.executed))) {
    ++left_out_.ended_early;
    return true;
  }
  return false;
}

// False for one that is known, or has ended.
bool Session::NoteFollowed(const TargetId& process) {
  return FindRunning(process.pid) == process && followed_.insert(process).second;
}

bool Session::AnyFollowedRuns() {
  std::erase_if(followed_, [](const TargetId& id) { return FindRunning(id.pid) != id; });
  return !followed_.empty();
}

void Session::DescribeChildren(SessionSnapshot& snapshot) const {
  if (spec_in_force_.many_processes && !spec_.children) {
    snapshot.warnings.push_back(
        StrCat("with more than ", kMostCleanProcesses,
               " processes, what one of them forks pays for its probes too, until the end"));
  }
  const auto add = [&](std::string reason, uint64_t count) {
    if (count != 0) snapshot.skipped.push_back({std::move(reason), count});
  };
  add("processes without a Python interpreter", left_out_.without_python);
  add("processes that ended before they could be attached", left_out_.ended_early);
  add(StrCat("processes beyond the most (", spec_.max_processes, " at once)"),
      left_out_.beyond_most);
  add(StrCat("processes after the first ", environment_.most_processes_ever, " of the session"),
      left_out_.beyond_ever);
  if (follower_)
    add("forks or execs that were not told",
        environment_.process_events->lost() - events_lost_before_);
}

}  // namespace sbump
