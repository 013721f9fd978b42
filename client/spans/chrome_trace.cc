#include "client/spans/span_json.h"
#include "client/spans/span_writer.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Exact to the nanosecond for 104 days of uptime.
double Microseconds(uint64_t ns) { return static_cast<double>(ns) / 1000; }

boost::json::object EventOf(const v1::Span& span, std::string_view name, std::string_view category,
                            uint64_t begin_ns, uint64_t duration_ns) {
  return {{"name", name},
          {"cat", category},
          {"ph", "X"},
          {"ts", Microseconds(begin_ns)},
          {"dur", Microseconds(duration_ns)},
          {"pid", span.pid()},
          {"tid", span.thread_id()}};
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
    std::string text;
    ForEachSpan(tree, [&](const SpanNode& node) {
      const v1::Span& span = node.span;
      if (span.delay_ns() != 0) {
        Append(EventOf(span, StrCat("delay of ", node.module.path()), "delay",
                       span.begin_ns() - span.delay_ns(), span.delay_ns()),
               text);
      }
      boost::json::object event = EventOf(span, node.module.path(), node.module.type(),
                                          span.begin_ns(), span.end_ns() - span.begin_ns());
      event["args"] = ArgumentsOf(node);
      Append(event, text);
    });
    file_->Write(text);
  }
  void Finish(uint64_t lost) override {
    const boost::json::object about = {{"clock", "CLOCK_MONOTONIC"}, {"lost_calls", lost}};
    file_->Write(StrCat("\n],\"otherData\":", boost::json::serialize(about), "}\n"));
  }

 private:
  void Append(const boost::json::object& event, std::string& text) {
    text += StrCat(any_ ? ",\n" : "\n", boost::json::serialize(event));
    any_ = true;
  }
  OutputFile* file_;
  bool any_ = false;
};

}  // namespace

std::unique_ptr<SpanWriter> ChromeTrace(OutputFile* file) { return std::make_unique<Trace>(file); }

}  // namespace sbump
