#include "daemon/session/session_table.h"

#include <malloc.h>

#include "daemon/attach/link_keeper.h"
#include "daemon/base/str_cat.h"

namespace sbump {

SessionTable::~SessionTable() { Shutdown(); }

absl::StatusOr<std::shared_ptr<Session>> SessionTable::Begin(
    AttachSpec spec, SnapshotSink sink, std::function<void(absl::Status)> on_end) {
  JoinEnded();
  std::lock_guard lock(mutex_);
  if (shutting_down_) return absl::UnavailableError("the daemon is shutting down");
  if (sessions_.size() >= kMaxSessions) {
    return absl::ResourceExhaustedError(
        StrCat("this daemon has ", sessions_.size(), " sessions, the most it takes"));
  }
  for (const auto& [id, session] : sessions_) {
    if (session->Holds(spec.pid)) {
      return absl::AlreadyExistsError(
          StrCat("pid ", spec.pid, " is held by session ", id, " of ", session->spec().client_name,
                 ": one session per process; end that one first (sbumpctl detach ", id, ")"));
    }
  }
  try {
    const std::string id = StrCat("s", next_id_++);
    auto session = std::make_shared<Session>(id, std::move(spec), environment_);
    session->AddSink(std::move(sink));
    session->Start([this, id, on_end = std::move(on_end)](absl::Status status) {
      Ended(id);
      on_end(std::move(status));
      on_any_end_();
    });
    return sessions_[id] = std::move(session);  // its end waits for the mutex
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(
        StrCat("sbumpd has no thread or file descriptor left for another session (", error.what(),
               "): end other sessions, or raise its limits"));
  }
}

std::shared_ptr<Session> SessionTable::Find(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second;
}

std::shared_ptr<Session> SessionTable::FindByPid(pid_t pid) const {
  for (const std::shared_ptr<Session>& session : All()) {
    if (session->Holds(pid)) return session;
  }
  return nullptr;
}

std::vector<std::shared_ptr<Session>> SessionTable::All() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Session>> all;
  for (const auto& [id, session] : sessions_) all.push_back(session);
  return all;
}

// On the ending session's own thread, which cannot join itself.
void SessionTable::Ended(const std::string& id) {
  // Inventories are many small pieces: glibc would keep most of their memory. It takes malloc's
  // locks, so not while a thread of some process waits for an answer.
  if (All().size() == 1) malloc_trim(0);
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  ended_.push_back(std::move(found->second));
  sessions_.erase(found);
  changed_.notify_all();
}

void SessionTable::JoinEnded() {
  std::vector<std::shared_ptr<Session>> ended;
  {
    std::lock_guard lock(mutex_);
    ended.swap(ended_);
  }
}

std::pair<size_t, uint64_t> SessionTable::Progress() const {
  const LinkKeeper* keeper = environment_.link_keeper;
  return {sessions_.size(), keeper == nullptr ? 0 : keeper->closed()};
}

std::vector<std::string> SessionTable::Shutdown(ShutdownPatience patience) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kLookEvery = std::chrono::milliseconds(100);
  std::unique_lock lock(mutex_);
  shutting_down_ = true;
  for (const auto& [id, session] : sessions_) session->Stop("daemon shutting down");
  const Clock::time_point begin = Clock::now();
  Clock::time_point last_progress = begin;
  auto progress = Progress();
  while (!sessions_.empty() && Clock::now() - begin < patience.in_all &&
         Clock::now() - last_progress < patience.without_progress) {
    changed_.wait_for(lock, kLookEvery, [this] { return sessions_.empty(); });
    const auto now_done = Progress();
    if (now_done != progress) last_progress = Clock::now();
    progress = now_done;
  }
  std::vector<std::string> left;
  for (const auto& [id, session] : sessions_) left.push_back(id);
  lock.unlock();
  JoinEnded();
  return left;
}

}  // namespace sbump
