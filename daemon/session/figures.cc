// The part of a session that tells its figures: what its processes say, put together.
#include <algorithm>
#include <utility>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/session/merge.h"
#include "daemon/session/session.h"

namespace sbump {

std::vector<std::shared_ptr<const Snapshot>> Session::LatestOfEach() const {
  std::vector<std::shared_ptr<const Snapshot>> all;
  for (const Member& member : members_) {
    if (member.is_shown) all.push_back(member.process->latest());
  }
  return all;
}

std::string Session::Progress() const {
  if (active_ || members_.empty()) return "";
  if (members_.size() == 1) return members_.front().process->latest()->progress;
  const auto done = std::count_if(members_.begin(), members_.end(), [](const Member& member) {
    return member.state != SessionState::kAttaching;
  });
  return StrCat("attaching: ", done, " of ", members_.size(), " processes");
}

void Session::Publish(SessionState state, std::shared_ptr<const SessionEnd> end) {
  auto snapshot = std::make_shared<SessionSnapshot>();
  snapshot->session_id = id_;
  snapshot->mode = spec_.mode;
  snapshot->on = spec_.on;
  snapshot->state = state;
  snapshot->progress = Progress();
  snapshot->unix_ns = UnixNs();
  snapshot->processes = LatestOfEach();
  MergeProcesses(*snapshot);
  DescribeChildren(*snapshot);
  if (attach_ns_ != 0) {
    const uint64_t until_ns = end == nullptr ? MonotonicNs() : MeasuredUntilNs(snapshot->processes);
    snapshot->times.attach_ns = attach_ns_;
    snapshot->times.active_ns = until_ns - std::min(until_ns, started_ns_ + attach_ns_);
  }
  snapshot->end = std::move(end);
  std::lock_guard sinks_lock(sinks_mutex_);
  {
    std::lock_guard lock(mutex_);
    latest_ = snapshot;
  }
  for (const auto& [number, sink] : sinks_) sink(snapshot);
}

}  // namespace sbump
