#include "client/spans/tracks.h"

#include <algorithm>
#include <iterator>

namespace sbump {

Slice SliceOf(const v1::Span& span) {
  return {span.begin_ns() - std::min(span.delay_ns(), span.begin_ns()), span.end_ns()};
}

bool Track::Take(const Slice& slice) {
  if (!open_.empty() && slice.begin_ns < open_.back().begin_ns) return TakeAround(slice);
  size_t around = open_.size();
  while (around > 0 && open_[around - 1].end_ns <= slice.begin_ns) --around;
  if (around > 0 && slice.end_ns > open_[around - 1].end_ns) return false;
  open_.resize(around);
  open_.push_back(slice);
  if (around == 0) Remember(slice);
  return true;
}

// The last outermost ones, all of them, are within it.
bool Track::TakeAround(const Slice& slice) {
  const auto first = std::ranges::lower_bound(outermost_, slice.begin_ns, {}, &Slice::begin_ns);
  const bool is_after_others =
      first == outermost_.begin() ? !has_forgotten_ : std::prev(first)->end_ns <= slice.begin_ns;
  if (!is_after_others || outermost_.back().end_ns > slice.end_ns) return false;
  outermost_.erase(first, outermost_.end());
  outermost_.push_back(slice);
  open_.insert(open_.begin(), slice);
  return true;
}

void Track::Remember(const Slice& slice) {
  if (outermost_.size() == kMostRemembered) {
    outermost_.erase(outermost_.begin(), outermost_.begin() + kMostRemembered / 2);
    has_forgotten_ = true;
  }
  outermost_.push_back(slice);
}

size_t Tracks::Take(const v1::Span& span, size_t wanted) {
  std::vector<Track>& tracks = by_thread_[{span.pid(), span.thread_id()}];
  const Slice slice = SliceOf(span);
  if (wanted < tracks.size() && tracks[wanted].Take(slice)) return wanted;
  for (size_t i = 0; i < tracks.size(); ++i)
    if (tracks[i].Take(slice)) return i;
  if (tracks.size() == kMostOfAThread) return wanted;
  tracks.emplace_back().Take(slice);
  return tracks.size() - 1;
}

}  // namespace sbump
