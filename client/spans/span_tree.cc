#include "client/spans/span_tree.h"

#include <algorithm>
#include <iterator>

namespace sbump {

void SpanTrees::Add(v1::Span span, const v1::SpanModule& module) {
  Pending& pending = pending_[{span.pid(), span.thread_id()}];
  std::vector<SpanNode>& nodes = pending.nodes;
  SpanNode node{.span = std::move(span), .module = module};
  // What ended before it, lies deeper and began after it, is within it.
  const auto is_within = [&](const SpanNode& other) {
    return other.span.depth() > node.span.depth() && other.span.begin_ns() >= node.span.begin_ns();
  };
  const auto first = std::find_if_not(nodes.rbegin(), nodes.rend(), is_within).base();
  node.children.assign(std::move_iterator(first), std::move_iterator(nodes.end()));
  nodes.erase(first, nodes.end());
  for (const SpanNode& child : node.children) {
    node.height = std::max(node.height, child.height + 1);
    node.spans += child.spans;
  }
  pending.spans -= node.spans - 1;
  if (node.height > kMostLevels) {
    TellApart(std::exchange(node.children, {}));
    node.height = node.spans = 1;
  }
  const bool is_outermost = node.span.depth() == 0;
  pending.spans += node.spans;
  nodes.push_back(std::move(node));
  // Others beside an outermost one were left by a call whose own span was lost.
  if (is_outermost || pending.spans >= kMostPending) TellAll(pending);
}

void SpanTrees::Add(v1::Operator made) {
  if (operators_ == kMostOperators) {
    ++lost_operators_;
    return;
  }
  ++operators_;
  pending_[{made.pid(), made.thread_id()}].operators.push_back(std::move(made));
}

// What was made after them is of a call that has not ended.
void SpanTrees::TellAll(Pending& pending) {
  std::vector<SpanNode> trees = std::exchange(pending.nodes, {});
  pending.spans = 0;
  std::vector<v1::Operator>& operators = pending.operators;
  std::ranges::stable_sort(operators, {}, &v1::Operator::begin_ns);
  auto next = operators.begin();
  for (SpanNode& tree : trees) {
    const auto begin = std::ranges::lower_bound(next, operators.end(), tree.span.begin_ns(), {},
                                                &v1::Operator::begin_ns);
    next = std::ranges::upper_bound(begin, operators.end(), tree.span.end_ns(), {},
                                    &v1::Operator::begin_ns);
    tree.operators.assign(std::move_iterator(begin), std::move_iterator(next));
  }
  operators_ -= static_cast<size_t>(next - operators.begin());
  operators.erase(operators.begin(), next);
  TellApart(std::move(trees));
}

void SpanTrees::TellApart(std::vector<SpanNode> trees) {
  for (SpanNode& tree : trees) on_tree_(std::move(tree));
}

void SpanTrees::Finish() {
  for (auto& [thread, pending] : std::exchange(pending_, {})) TellAll(pending);
}

void ForEachSpan(const SpanNode& tree, const std::function<void(const SpanNode&)>& visit) {
  visit(tree);
  for (const SpanNode& child : tree.children) ForEachSpan(child, visit);
}

}  // namespace sbump
