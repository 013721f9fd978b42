#include "daemon/gate/refusal_log.h"

#include <pthread.h>

#include <chrono>
#include <utility>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr auto kPause = std::chrono::seconds(1);
// Callers beyond kMost, within one pause.
constexpr char kOthers[] = "several other callers";

std::string LineOfMore(const std::string& owner, const Caller& caller, uint64_t more) {
  return ToJsonLine(
      {.event = "refused",
       .caller = caller,
       .reason = StrCat(more, " more refusals of ", owner, " were not recorded one by one")},
      UnixNs());
}

}  // namespace

RefusalLog::RefusalLog(Write write) : write_(std::move(write)), thread_([this] { Run(); }) {
  pthread_setname_np(thread_.native_handle(), "refusals");
}

RefusalLog::~RefusalLog() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void RefusalLog::Add(const AuditRecord& refusal) {
  std::lock_guard lock(mutex_);
  Owner& owner = OwnerOf(refusal.caller);
  if (waiting_ == kMost || owner.waiting == kMostOfOneCaller) {
    ++owner.more;
    return;
  }
  ++owner.waiting;
  ++waiting_;
  lines_ += ToJsonLine(refusal, UnixNs());  // which cuts long texts
  wake_.notify_one();
}

RefusalLog::Owner& RefusalLog::OwnerOf(const Caller& caller) {
  std::string key = OwnerKey(caller);
  if (!owners_.contains(key) && owners_.size() >= kMost) key = kOthers;
  Owner& owner = owners_[key];
  // Whose they are, not by which of its processes or connections.
  owner.caller = {.kind = caller.kind, .uid = caller.uid, .names = caller.names};
  return owner;
}

void RefusalLog::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return waiting_ != 0 || ending_; });
    if (waiting_ == 0) return;
    WriteWaiting(lock);
    wake_.wait_for(lock, kPause, [this] { return ending_; });
  }
}

void RefusalLog::WriteWaiting(std::unique_lock<std::mutex>& lock) {
  std::string lines = std::exchange(lines_, {});
  const auto owners = std::exchange(owners_, {});
  waiting_ = 0;
  lock.unlock();
  for (const auto& [name, owner] : owners)
    if (owner.more != 0) lines += LineOfMore(name, owner.caller, owner.more);
  write_(lines);
  lock.lock();
}

}  // namespace sbump
