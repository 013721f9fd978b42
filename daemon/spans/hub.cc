#include "daemon/spans/hub.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sbump {

namespace {

// Returns how many found no room.
template <typename T>
size_t Append(std::vector<T> fresh, std::deque<T>& waiting) {
  const size_t room = SpanHub::kMostWaiting - std::min(SpanHub::kMostWaiting, waiting.size());
  const size_t taken = std::min(room, fresh.size());
  std::move(fresh.begin(), fresh.begin() + static_cast<std::ptrdiff_t>(taken),
            std::back_inserter(waiting));
  return fresh.size() - taken;
}

template <typename T>
std::vector<T> TakeFirst(std::deque<T>& waiting, size_t most) {
  const auto end = waiting.begin() + static_cast<std::ptrdiff_t>(std::min(most, waiting.size()));
  std::vector<T> taken(std::move_iterator(waiting.begin()), std::move_iterator(end));
  waiting.erase(waiting.begin(), end);
  return taken;
}

}  // namespace

void SpanHub::Add(std::vector<Span> spans, std::vector<OperatorCall> operations) {
  if (spans.empty() && operations.empty()) return;
  std::unique_lock lock(mutex_);
  lost_ += Append(std::move(operations), operations_);
  lost_ += Append(std::move(spans), waiting_);
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
  Taken taken{.operations = TakeFirst(operations_, most), .lost = lost_};
  if (operations_.empty()) taken.spans = TakeFirst(waiting_, most);
  taken.finished = finished_ && operations_.empty() && waiting_.empty();
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
