#include "daemon/session/session_table.h"

#include <malloc.h>

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
    if (session->spec().pid == spec.pid) {
      return absl::AlreadyExistsError(
          StrCat("pid ", spec.pid, " is held by session ", id, " of ", session->spec().client_name,
                 ": one session per process; end that one first (sbumpctl detach ", id, ")"));
    }
  }
  const std::string id = StrCat("s", next_id_++);
  auto session = std::make_shared<Session>(id, std::move(spec), environment_);
  sessions_[id] = session;
  session->AddSink(std::move(sink));
  session->Start([this, id, on_end = std::move(on_end)](absl::Status status) {
    Ended(id);
    on_end(std::move(status));
  });
  return session;
}

std::shared_ptr<Session> SessionTable::Find(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second;
}

std::shared_ptr<Session> SessionTable::FindByPid(pid_t pid) const {
  for (const std::shared_ptr<Session>& session : All()) {
    if (session->spec().pid == pid) return session;
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

void SessionTable::Shutdown() {
  std::unique_lock lock(mutex_);
  shutting_down_ = true;
  for (const auto& [id, session] : sessions_) session->Stop("daemon shutting down");
  changed_.wait(lock, [this] { return sessions_.empty(); });
  lock.unlock();
  JoinEnded();
}

}  // namespace sbump
