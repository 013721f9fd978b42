#include "daemon/rpc/spans_to_proto.h"

#include <unordered_map>

#include "daemon/rpc/wire_text.h"

namespace sbump {
namespace {

void Fill(const SpanTensor& tensor, v1::SpanTensor& message) {
  message.set_keyword(Utf8(tensor.key));
  message.set_nested(tensor.nested);
  for (int64_t dim : tensor.dims) message.add_dims(dim);
  // Where memory is told, tensors are to be told apart.
  if (tensor.storage == 0) return;
  message.set_tensor_id(tensor.impl);
  message.set_storage_id(tensor.storage);
}

void Fill(const Span& span, v1::Span& message) {
  message.set_pid(span.pid);
  message.set_thread_id(span.thread_id);
  message.set_depth(span.depth);
  message.set_begin_ns(span.begin_ns);
  message.set_end_ns(span.end_ns);
  message.set_delay_ns(span.delay_ns);
  message.set_self_ns(span.self_ns);
  message.set_raised(span.raised);
  message.set_partial(span.partial);
  message.set_shapes_unknown(span.blind);
  for (const SpanTensor& tensor : span.inputs) Fill(tensor, *message.add_inputs());
  for (const SpanTensor& tensor : span.outputs) Fill(tensor, *message.add_outputs());
}

void Fill(const OperatorCall& operation, v1::Operator& message) {
  message.set_name(Utf8(*operation.name));
  message.set_pid(operation.pid);
  message.set_thread_id(operation.thread_id);
  message.set_begin_ns(operation.begin_ns);
  message.set_end_ns(operation.end_ns);
  message.set_partial(operation.partial);
  for (const SpanTensor& tensor : operation.inputs) Fill(tensor, *message.add_inputs());
  for (const SpanTensor& tensor : operation.outputs) Fill(tensor, *message.add_outputs());
}

}  // namespace

v1::SpanBatch ToBatch(const SpanHub::Taken& taken) {
  v1::SpanBatch batch;
  batch.set_lost(taken.lost);
  std::unordered_map<const SpanModule*, uint32_t> numbers;
  for (const Span& span : taken.spans) {
    const auto [known, is_new] =
        numbers.emplace(span.module.get(), static_cast<uint32_t>(batch.modules_size()));
    if (is_new) {
      v1::SpanModule& module = *batch.add_modules();
      module.set_path(Utf8(span.module->path));
      module.set_type(Utf8(span.module->type));
      module.set_qualified_type(Utf8(span.module->full_type));
      module.set_module_id(span.module->object);
      module.set_is_sequential(span.module->is_sequential);
    }
    v1::Span& message = *batch.add_spans();
    message.set_module(known->second);
    Fill(span, message);
  }
  for (const OperatorCall& operation : taken.operations) Fill(operation, *batch.add_operators());
  return batch;
}

}  // namespace sbump
