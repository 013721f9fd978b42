#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "client/spans/span_json.h"
#include "client/spans/span_writer.h"
#include "client/spans/tracks.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Exact to a hundredth of a nanosecond for 104 days of uptime.
double Microseconds(uint64_t ns) { return static_cast<double>(ns) / 1000; }

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
                                   {"self_us", Microseconds(span.self_ns())}};
  if (!span.shapes_unknown()) {  // not looked at is not none
    arguments["inputs"] = ToJson(span.inputs(), "");
    arguments["outputs"] = ToJson(span.outputs(), "");
  }
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
