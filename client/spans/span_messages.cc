#include <google/protobuf/util/delimited_message_util.h>

#include <sstream>

#include "client/spans/span_writer.h"

namespace sbump {
namespace {

class Messages : public SpanWriter {
 public:
  explicit Messages(OutputFile* file) : file_(file) {}
  void Write(const SpanNode& tree) override {
    v1::SpanBatch batch;
    ForEachSpan(tree, [&](const SpanNode& node) {
      v1::Span& span = *batch.add_spans();
      span = node.span;
      span.set_module(static_cast<uint32_t>(batch.modules_size()));
      *batch.add_modules() = node.module;
    });
    Write(batch);
  }
  void Finish(uint64_t lost) override {
    v1::SpanBatch batch;
    batch.set_lost(lost);
    Write(batch);
  }

 private:
  void Write(const v1::SpanBatch& batch) {
    std::ostringstream text;
    google::protobuf::util::SerializeDelimitedToOstream(batch, &text);
    file_->Write(text.str());
  }
  OutputFile* file_;
};

}  // namespace

std::unique_ptr<SpanWriter> SpanMessages(OutputFile* file) {
  return std::make_unique<Messages>(file);
}

}  // namespace sbump
