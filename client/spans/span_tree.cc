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
  if (node.span.depth() == 0) {
    // Left by a call whose own span was lost.
    TellApart(std::exchange(pending, {}).nodes);
    return on_tree_(std::move(node));
  }
  pending.spans += node.spans;
  nodes.push_back(std::move(node));
  if (pending.spans >= kMostPending) TellApart(std::exchange(pending, {}).nodes);
}

void SpanTrees::TellApart(std::vector<SpanNode> trees) {
  for (SpanNode& tree : trees) on_tree_(std::move(tree));
}

void SpanTrees::Finish() {
  for (auto& [thread, pending] : std::exchange(pending_, {})) TellApart(std::move(pending.nodes));
}

void ForEachSpan(const SpanNode& tree, const std::function<void(const SpanNode&)>& visit) {
  visit(tree);
  for (const SpanNode& child : tree.children) ForEachSpan(child, visit);
}

}  // namespace sbump
