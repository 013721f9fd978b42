// A call of a module, or of an operator, from begin to end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sbump {

struct SpanModule {
  std::string path;       // "top.layers.0.attn"
  std::string type;       // "Linear"
  std::string full_type;  // "torch.nn.modules.linear.Linear"
  uint64_t object = 0;    // its address
  bool is_sequential = false;
};

struct SpanTensor {
  std::string key;  // of a keyword argument; empty: positional, or a result
  std::vector<int64_t> dims;
  uint64_t impl = 0;     // address of its c10::TensorImpl
  uint64_t storage = 0;  // of its c10::StorageImpl; 0: none, or not asked for
  bool nested = false;   // within a list or tuple that is a positional argument

  bool operator==(const SpanTensor&) const = default;
};

struct Span {
  std::shared_ptr<const SpanModule> module;
  int pid = 0;
  uint32_t thread_id = 0;  // as the daemon sees it; 0: it does not
  uint32_t depth = 0;      // modules of this thread that had begun before and had not ended
  uint64_t begin_ns = 0;   // CLOCK_MONOTONIC, after the delay
  uint64_t end_ns = 0;
  uint64_t delay_ns = 0;  // injected before the begin
  uint64_t self_ns = 0;   // without the spans within it, and without their delays
  bool raised = false;
  bool partial = false;            // more tensors, or deeper in lists, than are looked at
  bool blind = false;              // where tensors have their shape was not known
  std::vector<SpanTensor> inputs;  // positional ones, and those of keywords, in order
  std::vector<SpanTensor> outputs;
};

// Of an operator of torch's dispatcher, made within a call of a module, and not by another
// operator.
struct OperatorCall {
  std::shared_ptr<const std::string> name;  // "softmax.int"
  int pid = 0;
  uint32_t thread_id = 0;  // as in Span
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  bool partial = false;
  std::vector<SpanTensor> inputs;
  std::vector<SpanTensor> outputs;
};

}  // namespace sbump
