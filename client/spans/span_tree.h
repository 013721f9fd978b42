// Spans of a thread come in the order of their ends: children before their parent. Here they become
// trees.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

struct SpanNode {
  v1::Span span;
  v1::SpanModule module;
  std::vector<SpanNode> children;  // in the order of their begins
  size_t height = 1;               // levels, this one among them
  size_t spans = 1;                // of all levels
  // Of an outermost one: made within it, in the order of their begins.
  std::vector<v1::Operator> operators;
};

class SpanTrees {
 public:
  // Spans of one thread without an outermost end: more are told as they are, without their parents.
  static constexpr size_t kMostPending = 100'000;
  // Levels of a tree; what would make more is told by itself.
  static constexpr size_t kMostLevels = 2'000;
  // Operators of all threads that wait for the call that they were made within.
  static constexpr size_t kMostOperators = 100'000;

  using OnTree = std::function<void(SpanNode tree)>;
  // `on_tree` gets each outermost call when it has ended.
  explicit SpanTrees(OnTree on_tree) : on_tree_(std::move(on_tree)) {}

  void Add(v1::Span span, const v1::SpanModule& module);
  // Before the outermost call that it was made within.
  void Add(v1::Operator made);
  // What is left: calls within one that was not seen to end.
  void Finish();
  // Operators beyond kMostOperators.
  uint64_t lost_operators() const { return lost_operators_; }

 private:
  struct Pending {
    std::vector<SpanNode> nodes;
    size_t spans = 0;  // of all of them
    std::vector<v1::Operator> operators;
  };
  void TellApart(std::vector<SpanNode> trees);
  void TellAll(Pending& pending);

  OnTree on_tree_;
  std::map<std::pair<int32_t, uint32_t>, Pending> pending_;  // by pid and thread
  size_t operators_ = 0;                                     // of all of them
  uint64_t lost_operators_ = 0;
};

// All of a tree, parents before children.
void ForEachSpan(const SpanNode& tree, const std::function<void(const SpanNode&)>& visit);

}  // namespace sbump
