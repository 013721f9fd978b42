#include "client/spans/span_json.h"
#include "client/spans/span_writer.h"

namespace sbump {
namespace {

std::string LineOf(const SpanNode& node) {
  const v1::Span& span = node.span;
  const boost::json::object line = {{"path", node.module.path()},
                                    {"type", node.module.type()},
                                    {"qualified_type", node.module.qualified_type()},
                                    {"pid", span.pid()},
                                    {"thread_id", span.thread_id()},
                                    {"depth", span.depth()},
                                    {"begin_ns", span.begin_ns()},
                                    {"end_ns", span.end_ns()},
                                    {"delay_ns", span.delay_ns()},
                                    {"self_ns", span.self_ns()},
                                    {"raised", span.raised()},
                                    {"partial", span.partial()},
                                    {"shapes_unknown", span.shapes_unknown()},
                                    {"inputs", ToJson(span.inputs(), "")},
                                    {"keywords", KeywordsOf(span)},
                                    {"outputs", ToJson(span.outputs(), "")}};
  return boost::json::serialize(line) + "\n";
}

class Lines : public SpanWriter {
 public:
  explicit Lines(OutputFile* file) : file_(file) {}
  void Write(const SpanNode& tree) override {
    std::string text;
    ForEachSpan(tree, [&](const SpanNode& node) { text += LineOf(node); });
    file_->Write(text);
  }
  void Finish(uint64_t) override {}

 private:
  OutputFile* file_;
};

}  // namespace

std::unique_ptr<SpanWriter> SpanLines(OutputFile* file) { return std::make_unique<Lines>(file); }

}  // namespace sbump
