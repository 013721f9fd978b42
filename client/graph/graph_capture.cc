#include "client/graph/graph_capture.h"

#include <algorithm>
#include <utility>

#include "client/graph/node_names.h"
#include "client/human_units.h"
#include "client/printable.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr size_t kMostNamed = 5;

// Nothing where there are none.
void NameThem(const std::string& what, const std::set<std::string>& paths, Graph& graph) {
  if (paths.empty()) return;
  std::string text = what;
  size_t named = 0;
  for (const std::string& path : paths) {
    if (named++ == kMostNamed) break;
    text += StrCat(named == 1 ? ": " : ", ", Printable(path));
  }
  graph.warnings.push_back(std::move(text));
}

}  // namespace

void GraphCapture::Write(const SpanNode& tree) {
  if (enough_) return;
  const std::string& path = tree.module.path();
  if (!options_.of.empty()) {
    Look(tree, tree.operators);
  } else if (tree.span.depth() == 0 && facts_.IsOutermost(path)) {
    return Take(tree, tree.operators);
  } else if (tree.span.depth() == 0 && cut_off_.size() < kMostRoots) {
    cut_off_.insert(facts_.OutermostOf(path));
  }
  if (others_.size() < kMostRoots || others_.contains(path)) ++others_[path];
}

void GraphCapture::Look(const SpanNode& call, std::span<const v1::Operator> operators) {
  if (call.module.path() == options_.of) return Take(call, operators);
  for (const SpanNode& child : call.children)
    if (!enough_) Look(child, operators);
}

void GraphCapture::Take(const SpanNode& call, std::span<const v1::Operator> operators) {
  if (!roots_.contains(call.module.path()) && roots_.size() == kMostRoots) return;
  Root& root = roots_.try_emplace(call.module.path(), Root{.number = roots_.size()}).first->second;
  if (call.span.raised()) {
    // One that always does must not be waited for until the session's ttl.
    enough_ = ++root.raised == options_.forwards * kPatience;
    return;
  }
  const auto first =
      std::ranges::lower_bound(operators, call.span.begin_ns(), {}, &v1::Operator::begin_ns);
  const auto last = std::ranges::upper_bound(first, operators.end(), call.span.end_ns(), {},
                                             &v1::Operator::begin_ns);
  root.operators = std::max(root.operators, static_cast<uint64_t>(last - first));
  // There may be enough of it, but not of the one that most operators are of.
  if (root.ended++ < options_.forwards) Vote(call, std::span(first, last), root);
  enough_ = SawEnough();
}

bool GraphCapture::SawEnough() const {
  const uint64_t ended = Chosen()->second.ended;
  const bool awaits_another = std::ranges::any_of(
      cut_off_, [&](const std::string& path) { return !roots_.contains(path); });
  return ended >= options_.forwards * (awaits_another ? kPatience : 1);
}

void GraphCapture::Vote(const SpanNode& call, std::span<const v1::Operator> operators, Root& root) {
  std::optional<ForwardGraph> forward = GraphOf(call, operators, facts_, options_.leaves);
  if (forward)
    root.vote.Add(*std::move(forward), &nodes_left_);
  else
    ++root.too_large;
}

GraphCapture::Roots::const_iterator GraphCapture::Chosen() const {
  return std::ranges::max_element(roots_, [](const auto& left, const auto& right) {
    const Root &a = left.second, &b = right.second;
    return a.operators != b.operators ? a.operators < b.operators : a.number > b.number;
  });
}

Graph GraphCapture::Result() const {
  const auto chosen = Chosen();
  if (chosen == roots_.end()) return {.lost = lost_};
  Graph graph = chosen->second.vote.Result();
  graph.root = chosen->first;
  graph.raised = chosen->second.raised;
  graph.too_large = chosen->second.too_large;
  graph.lost = lost_;
  if (options_.of.empty()) {
    NameThem("other outermost modules were called, too; --of names one",
             OthersThatWereCalled(graph.root), graph);
    NameThem("larger models were not called meanwhile; --of waits for one",
             LargerOnesThatWereNot(graph.root), graph);
  }
  GiveNames(graph.nodes);
  return graph;
}

std::set<std::string> GraphCapture::OthersThatWereCalled(const std::string& chosen) const {
  std::set<std::string> others = cut_off_;
  for (const auto& [path, root] : roots_) others.insert(path);
  others.erase(chosen);
  return others;
}

// Attached between two forwards, the first calls may all be those of a small model.
std::set<std::string> GraphCapture::LargerOnesThatWereNot(const std::string& chosen) const {
  std::set<std::string> larger;
  const std::map<std::string, size_t> sizes = facts_.SizesOfOutermost();
  const auto own = sizes.find(chosen);
  for (const auto& [path, size] : sizes) {
    if (own != sizes.end() && size > own->second && !roots_.contains(path) &&
        !cut_off_.contains(path))
      larger.insert(path);
  }
  return larger;
}

std::string GraphCapture::WhatWasCalled() const {
  std::string text;
  for (const auto& [path, root] : roots_) {
    if (root.raised != 0)
      text += StrCat("; ", HumanCount(root.raised), " of ", Printable(path), " raised");
    if (root.too_large != 0)
      text += StrCat("; ", HumanCount(root.too_large), " of ", Printable(path), " had more than ",
                     HumanCount(kMostNodes), " nodes");
  }
  size_t named = 0;
  for (const auto& [path, calls] : others_) {
    if (++named > kMostNamed) break;
    text += StrCat(named == 1 ? "; called were " : ", ", Printable(path));
  }
  return text;
}

}  // namespace sbump
