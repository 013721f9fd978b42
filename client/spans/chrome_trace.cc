#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "client/spans/span_json.h"
#include "client/spans/span_writer.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Exact to a hundredth of a nanosecond for 104 days of uptime.
double Microseconds(uint64_t ns) { return static_cast<double>(ns) / 1000; }

// A call, with the delay before it.
struct Slice {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
};

Slice SliceOf(const v1::Span& span) {
  return {span.begin_ns() - std::min(span.delay_ns(), span.begin_ns()), span.end_ns()};
}

// Calls one after the other, or within each other.
class Track {
 public:
  // False: it is only partly within another one, or may be.
  bool Take(const Slice& slice) {
    if (!open_.empty() && slice.begin_ns < open_.back().begin_ns) return TakeAround(slice);
    size_t around = open_.size();
    while (around > 0 && open_[around - 1].end_ns <= slice.begin_ns) --around;
    if (around > 0 && slice.end_ns > open_[around - 1].end_ns) return false;
    open_.resize(around);
    open_.push_back(slice);
    if (around == 0) Remember(slice);
    return true;
  }

 private:
  // What SpanTrees tells of a call before the call itself (kMostPending), and some.
  static constexpr size_t kMostRemembered = 200'000;

  // The last outermost ones, all of them, are within it.
  bool TakeAround(const Slice& slice) {
    const auto first = std::ranges::lower_bound(outermost_, slice.begin_ns, {}, &Slice::begin_ns);
    const bool is_after_others =
        first == outermost_.begin() ? !has_forgotten_ : std::prev(first)->end_ns <= slice.begin_ns;
    if (!is_after_others || outermost_.back().end_ns > slice.end_ns) return false;
    outermost_.erase(first, outermost_.end());
    outermost_.push_back(slice);
    open_.insert(open_.begin(), slice);
    return true;
  }
  void Remember(const Slice& slice) {
    if (outermost_.size() == kMostRemembered) {
      outermost_.erase(outermost_.begin(), outermost_.begin() + kMostRemembered / 2);
      has_forgotten_ = true;
    }
    outermost_.push_back(slice);
  }

  std::vector<Slice> open_;       // each within the one before it; the last begin is the last one's
  std::vector<Slice> outermost_;  // one after the other; the last is open_'s first
  bool has_forgotten_ = false;    // some before these
};

// Viewers leave out what is only partly within another slice of its thread. Calls that overlap, as
// where greenlets take turns, are on tracks of their own.
class Tracks {
 public:
  // Of the calls of one thread, which is the first. `wanted` is tried first, and taken whether it
  // fits or not where there are kMostOfAThread.
  size_t Take(const v1::Span& span, size_t wanted) {
    std::vector<Track>& tracks = by_thread_[{span.pid(), span.thread_id()}];
    const Slice slice = SliceOf(span);
    if (wanted < tracks.size() && tracks[wanted].Take(slice)) return wanted;
    for (size_t i = 0; i < tracks.size(); ++i)
      if (tracks[i].Take(slice)) return i;
    if (tracks.size() == kMostOfAThread) return wanted;
    tracks.emplace_back().Take(slice);
    return tracks.size() - 1;
  }

  static uint64_t IdOf(const v1::Span& span, size_t track) {
    return span.thread_id() + track * kThreadIds;
  }

 private:
  // PID_MAX_LIMIT of the kernel (include/linux/threads.h). Together they are 31 bits, which is what
  // viewers take.
  static constexpr uint64_t kThreadIds = uint64_t{1} << 22;
  static constexpr size_t kMostOfAThread = 512;
  std::map<std::pair<int32_t, uint32_t>, std::vector<Track>> by_thread_;
};

boost::json::object NameOf(const v1::Span& span, size_t track) {
  const std::string name = StrCat("thread ", span.thread_id(), ", overlapping ", track);
  return {{"name", "thread_name"},
          {"ph", "M"},
          {"pid", span.pid()},
          {"tid", Tracks::IdOf(span, track)},
          {"args", boost::json::object{{"name", name}}}};
}

boost::json::object EventOf(const v1::Span& span, uint64_t tid, std::string_view name,
                            std::string_view category, uint64_t begin_ns, uint64_t end_ns) {
  const double begin = Microseconds(begin_ns);
  return {{"name", name},
          {"cat", category},
          {"ph", "X"},
          {"ts", begin},
          // So that a reader that adds the two comes to the very begin of what follows: Chrome's
          // DevTools leave out what begins before that, by however little.
          {"dur", Microseconds(end_ns) - begin},
          {"pid", span.pid()},
          {"tid", tid}};
}

boost::json::object ArgumentsOf(const SpanNode& node) {
  const v1::Span& span = node.span;
  boost::json::object arguments = {{"type", node.module.qualified_type()},
                                   {"inputs", ToJson(span.inputs(), "")},
                                   {"outputs", ToJson(span.outputs(), "")},
                                   {"self_us", Microseconds(span.self_ns())}};
  if (boost::json::object keywords = KeywordsOf(span); !keywords.empty())
    arguments["keywords"] = std::move(keywords);
  if (span.delay_ns() != 0) arguments["delay_us"] = Microseconds(span.delay_ns());
  if (span.raised()) arguments["raised"] = true;
  if (span.partial()) arguments["partial"] = true;
  return arguments;
}

class Trace : public SpanWriter {
 public:
  explicit Trace(OutputFile* file) : file_(file) {
    file_->Write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  }
  void Write(const SpanNode& tree) override {
    std::vector<Call> calls;
    Collect(tree, 0, calls);
    GiveTracks(calls);
    std::string text;
    for (const Call& call : calls) AppendCall(call, text);
    file_->Write(text);
  }
  void Finish(uint64_t lost) override {
    const boost::json::object about = {{"clock", "CLOCK_MONOTONIC"}, {"lost_calls", lost}};
    file_->Write(StrCat("\n],\"otherData\":", boost::json::serialize(about), "}\n"));
  }

 private:
  struct Call {
    const SpanNode* node;
    size_t parent;  // index
    size_t track = 0;
  };
  static void Collect(const SpanNode& node, size_t parent, std::vector<Call>& calls) {
    const size_t index = calls.size();
    calls.push_back({&node, parent});
    for (const SpanNode& child : node.children) Collect(child, index, calls);
  }
  void GiveTracks(std::vector<Call>& calls) {
    std::vector<size_t> by_begin(calls.size());
    std::iota(by_begin.begin(), by_begin.end(), size_t{0});
    std::ranges::stable_sort(by_begin, {},
                             [&calls](size_t i) { return SliceOf(calls[i].node->span).begin_ns; });
    for (const size_t i : by_begin)
      calls[i].track = tracks_.Take(calls[i].node->span, calls[calls[i].parent].track);
  }

  void AppendCall(const Call& call, std::string& text) {
    const SpanNode& node = *call.node;
    const v1::Span& span = node.span;
    const uint64_t tid = Tracks::IdOf(span, call.track);
    if (call.track != 0 && named_.insert({span.pid(), tid}).second)
      Append(NameOf(span, call.track), text);
    if (span.delay_ns() != 0) {
      Append(EventOf(span, tid, StrCat("delay of ", node.module.path()), "delay",
                     SliceOf(span).begin_ns, span.begin_ns()),
             text);
    }
    boost::json::object event =
        EventOf(span, tid, node.module.path(), node.module.type(), span.begin_ns(), span.end_ns());
    event["args"] = ArgumentsOf(node);
    Append(event, text);
  }
  void Append(const boost::json::object& event, std::string& text) {
    text += StrCat(any_ ? ",\n" : "\n", boost::json::serialize(event));
    any_ = true;
  }
  OutputFile* file_;
  Tracks tracks_;
  std::set<std::pair<int32_t, uint64_t>> named_;  // tracks, by pid and id
  bool any_ = false;
};

}  // namespace

std::unique_ptr<SpanWriter> ChromeTrace(OutputFile* file) { return std::make_unique<Trace>(file); }

}  // namespace sbump
