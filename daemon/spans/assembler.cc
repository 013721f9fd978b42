#include "daemon/spans/assembler.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace sbump {

std::vector<SpanTensor> SpanAssembler::TensorsOf(const sb_span_event& event) const {
  std::vector<SpanTensor> tensors;
  std::span<const __u64> words(event.word, std::min<size_t>(event.words, SB_SPAN_WORDS));
  for (size_t i = 0; i < event.tensors && words.size() >= SB_TENSOR_WORDS; ++i) {
    sb_span_tensor tensor;
    std::memcpy(&tensor, words.data(), sizeof tensor);
    words = words.subspan(SB_TENSOR_WORDS);
    if (tensor.dims > words.size()) break;
    tensors.push_back({.key = tensor.key <= SB_SPAN_NESTED_KEY ? "" : name_of_(tensor),
                       .dims = {words.begin(), words.begin() + tensor.dims},
                       .impl = tensor.impl,
                       .storage = tensor.storage,
                       .nested = tensor.key == SB_SPAN_NESTED_KEY && event.kind == SB_SPAN_BEGIN});
    words = words.subspan(tensor.dims);
  }
  return tensors;
}

// A stack grows downwards: what began where this one begins, or below, has left without being seen.
void SpanAssembler::DropDead(Thread& thread, const sb_span_event& event) {
  unpaired_ += std::erase_if(thread, [&](const Open& open) {
    return switches_stacks_ ? IsOf(event, open) : open.stack <= event.stack;
  });
}

// `above`: open calls further up the stack. Where another stack's calls are among them, they are
// not all around this one: it is within those whose path leads to its own.
uint32_t SpanAssembler::DepthOf(const Thread& thread, const sb_span_event& event,
                                const std::string& path, size_t above) {
  const auto of_another_stack = [&](const Open& open) {
    return open.stack <= event.stack || open.object == event.object;
  };
  switched_within_calls_ |= switches_stacks_ && std::ranges::any_of(thread, of_another_stack);
  if (!switched_within_calls_) return static_cast<uint32_t>(above);
  std::set<std::string_view> around;
  for (size_t i = 0; i < above; ++i) {
    const std::string& other = thread[i].span.module->path;
    if (path.starts_with(other) && path.size() > other.size() && path[other.size()] == '.')
      around.insert(other);
  }
  return static_cast<uint32_t>(around.size());
}

void SpanAssembler::Begin(const sb_span_event& event, std::shared_ptr<const SpanModule> module,
                          bool lacks_tensors) {
  if (threads_.size() >= kMostThreads && !threads_.contains(event.tid)) {
    for (const auto& [tid, thread] : threads_) unpaired_ += thread.size();
    threads_.clear();
  }
  Thread& thread = threads_[event.tid];
  DropDead(thread, event);
  if (thread.size() >= kDeepest) return;  // its end is counted
  const auto at =
      std::ranges::find_if(thread, [&](const Open& open) { return open.stack < event.stack; });
  const uint32_t depth =
      DepthOf(thread, event, module->path, static_cast<size_t>(at - thread.begin()));
  Open open{.stack = event.stack, .caller = event.caller, .object = event.object};
  open.span = {.module = std::move(module),
               .thread_id = event.tid,
               .depth = depth,
               .begin_ns = event.at_ns,
               .delay_ns = event.delay_ns,
               .partial = lacks_tensors || (event.flags & SB_SPAN_PARTIAL) != 0,
               .blind = (event.flags & SB_SPAN_BLIND) != 0,
               .inputs = TensorsOf(event)};
  thread.insert(at, std::move(open));
}

std::optional<Span> SpanAssembler::End(const sb_span_event& event, bool lacks_tensors) {
  const auto found = threads_.find(event.tid);
  if (found == threads_.end()) {
    ++unpaired_;
    return std::nullopt;
  }
  Thread& thread = found->second;
  const auto at = std::ranges::find_if(thread, [&](const Open& open) { return IsOf(event, open); });
  if (at == thread.end() || at->object != event.object) {
    if (at != thread.end()) thread.erase(at);
    ++unpaired_;
    return std::nullopt;
  }
  Span span = std::move(at->span);
  span.end_ns = event.at_ns;
  const uint64_t whole_ns = span.end_ns - std::min(span.begin_ns, span.end_ns);
  span.self_ns = whole_ns - std::min(at->inner_ns, whole_ns);
  span.raised = (event.flags & SB_SPAN_RAISED) != 0;
  span.partial |= lacks_tensors || (event.flags & SB_SPAN_PARTIAL) != 0;
  span.outputs = TensorsOf(event);
  if (at != thread.begin()) std::prev(at)->inner_ns += whole_ns + span.delay_ns;
  thread.erase(at);
  if (!switches_stacks_) {
    // Its own inner ones, whose ends were lost.
    unpaired_ += std::erase_if(thread, [&](const Open& open) { return open.stack < event.stack; });
  }
  if (thread.empty()) threads_.erase(found);
  return span;
}

// ---- Operators ----

// An undefined one (of an optional argument) has no storage, and no dims.
std::vector<SpanTensor> SpanAssembler::DefinedOf(const sb_span_event& event) const {
  std::vector<SpanTensor> tensors = TensorsOf(event);
  std::erase_if(
      tensors, [](const SpanTensor& tensor) { return tensor.storage == 0 && tensor.dims.empty(); });
  return tensors;
}

void SpanAssembler::BeginOperator(const sb_span_event& event,
                                  std::shared_ptr<const std::string> name) {
  operations_.erase(event.tid);  // it raised
  if (!threads_.contains(event.tid) || operations_.size() >= kMostThreads) return;
  OpenOperatorCall open{.stack = event.stack, .number = event.object};
  open.operation = {.name = std::move(name),
                    .thread_id = event.tid,
                    .begin_ns = event.at_ns,
                    .partial = (event.flags & SB_SPAN_PARTIAL) != 0,
                    .inputs = DefinedOf(event)};
  operations_.emplace(event.tid, std::move(open));
}

std::optional<OperatorCall> SpanAssembler::EndOperator(const sb_span_event& event) {
  const auto open = operations_.extract(event.tid);
  if (open.empty() || open.mapped().stack != event.stack || open.mapped().number != event.object)
    return std::nullopt;
  OperatorCall operation = std::move(open.mapped().operation);
  operation.end_ns = event.at_ns;
  operation.partial |= (event.flags & SB_SPAN_PARTIAL) != 0;
  operation.outputs = DefinedOf(event);
  return operation;
}

}  // namespace sbump
