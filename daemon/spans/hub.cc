#include "daemon/spans/hub.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sbump {

void SpanHub::Add(std::vector<Span> spans) {
  if (spans.empty()) return;
  std::unique_lock lock(mutex_);
  const size_t room = kMostWaiting - std::min(kMostWaiting, waiting_.size());
  const size_t taken = std::min(room, spans.size());
  std::move(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(taken),
            std::back_inserter(waiting_));
  lost_ += spans.size() - taken;
  Tell(std::move(lock));
}

void SpanHub::NoteLost(uint64_t count) {
  if (count == 0) return;
  std::unique_lock lock(mutex_);
  lost_ += count;
  Tell(std::move(lock));
}

void SpanHub::Finish() {
  std::unique_lock lock(mutex_);
  finished_ = true;
  Tell(std::move(lock));
}

bool SpanHub::Open(std::function<void()> on_news) {
  std::unique_lock lock(mutex_);
  if (on_news_) return false;
  on_news_ = std::move(on_news);
  Tell(std::move(lock));
  return true;
}

SpanHub::Taken SpanHub::Take(size_t most) {
  std::lock_guard lock(mutex_);
  Taken taken{.lost = lost_};
  const auto count = static_cast<std::ptrdiff_t>(std::min(most, waiting_.size()));
  taken.spans.assign(std::move_iterator(waiting_.begin()),
                     std::move_iterator(waiting_.begin() + count));
  waiting_.erase(waiting_.begin(), waiting_.begin() + count);
  taken.finished = finished_ && waiting_.empty();
  return taken;
}

void SpanHub::Close() {
  std::lock_guard lock(mutex_);
  on_news_ = nullptr;
}

void SpanHub::Tell(std::unique_lock<std::mutex> lock) {
  const std::function<void()> tell = on_news_;
  lock.unlock();
  if (tell) tell();
}

}  // namespace sbump
