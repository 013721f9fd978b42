// From the begins and ends of one process's calls (bpf/shared/span.h) to spans.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bpf/shared/span.h"
#include "daemon/spans/span.h"

namespace sbump {

class SpanAssembler {
 public:
  static constexpr size_t kMostThreads = 4096;
  static constexpr size_t kDeepest = 1024;  // calls of a thread that are open at once

  // The name of a keyword argument.
  using NameOf = std::function<std::string(const sb_span_tensor& tensor)>;
  explicit SpanAssembler(NameOf name_of) : name_of_(std::move(name_of)) {}

  // From now on its threads may switch stacks (greenlets): a call further up the stack may go on
  // while one further down waits.
  void ThreadsSwitchStacks() { switches_stacks_ = true; }

  // `module`: what the daemon knows of event.object. `lacks_tensors`: it had some that were not
  // known for tensors.
  void Begin(const sb_span_event& event, std::shared_ptr<const SpanModule> module,
             bool lacks_tensors = false);
  // Nothing where its begin was not seen, or cannot be told from another one's.
  std::optional<Span> End(const sb_span_event& event, bool lacks_tensors = false);

  // The same of operators: one of a thread is open at a time. One outside of all modules is left
  // out.
  void BeginOperator(const sb_span_event& event, std::shared_ptr<const std::string> name);
  // Nothing where its begin was not told.
  std::optional<OperatorCall> EndOperator(const sb_span_event& event);

  // Stacks were switched within calls: `depth` is what paths say, and self_ns is vague.
  bool switched_within_calls() const { return switched_within_calls_; }
  // Begins without an end, and ends without a begin.
  uint64_t unpaired() const { return unpaired_; }

 private:
  struct Open {
    uint64_t stack = 0;
    uint64_t caller = 0;
    uint64_t object = 0;
    uint64_t inner_ns = 0;  // of spans and delays within it
    Span span;
  };
  static bool IsOf(const sb_span_event& event, const Open& open) {
    return open.stack == event.stack && open.caller == event.caller;
  }
  using Thread = std::vector<Open>;  // the innermost last: the lowest stack pointer

  void DropDead(Thread& thread, const sb_span_event& event);
  uint32_t DepthOf(const Thread& thread, const sb_span_event& event, const std::string& path,
                   size_t above);
  std::vector<SpanTensor> TensorsOf(const sb_span_event& event) const;
  std::vector<SpanTensor> DefinedOf(const sb_span_event& event) const;

  const NameOf name_of_;
  bool switches_stacks_ = false;
  bool switched_within_calls_ = false;
  std::unordered_map<uint32_t, Thread> threads_;
  struct OpenOperatorCall {
    uint64_t stack = 0;
    uint64_t number = 0;
    OperatorCall operation;
  };
  std::unordered_map<uint32_t, OpenOperatorCall> operations_;  // one of each thread
  uint64_t unpaired_ = 0;
};

}  // namespace sbump
