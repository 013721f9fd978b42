#include "client/graph/forward_graph.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

using Tensors = google::protobuf::RepeatedPtrField<v1::SpanTensor>;

// Who made a tensor last.
struct Made {
  size_t node;
  uint64_t storage_id;
  Dims dims;
};

class Walk {
 public:
  Walk(const SpanNode& root, std::span<const v1::Operator> operators, const ModelFacts& facts,
       const LeafPolicy& leaves)
      : root_(root), operators_(operators), facts_(facts), leaves_(leaves) {}

  std::optional<ForwardGraph> Run() {
    const ScopeRef scope = ScopeOf(root_, nullptr);
    while (!operators_.empty() && operators_.front().begin_ns() < root_.span.begin_ns())
      operators_ = operators_.subspan(1);
    AddPlaceholders(scope);
    Visit(root_, {.scope = scope, .leaf = std::nullopt});
    const size_t output = AddNode(NodeOp::kOutput, "output", scope);
    Take(output, MakersOf(root_.span.outputs(), nullptr));
    graph_.nodes[output].partial = root_.span.partial();
    graph_.shapes_unknown = root_.span.shapes_unknown();
    graph_.tensors_alike = saw_tensor_ && !saw_id_;
    if (too_large_) return std::nullopt;
    std::ranges::sort(graph_.edges);
    graph_.edges.erase(std::unique(graph_.edges.begin(), graph_.edges.end()), graph_.edges.end());
    return std::move(graph_);
  }

 private:
  struct Within {
    ScopeRef scope;
    std::optional<size_t> leaf;  // the node that all within belongs to
  };
  // Of each tensor. Without a maker: it is unknown.
  struct Taken {
    std::optional<size_t> maker;
    uint64_t tensor_id;
  };
  using TakenList = std::vector<Taken>;

  static ScopeRef ScopeOf(const SpanNode& call, const ScopeRef& above) {
    return std::make_shared<Scope>(Scope{.path = call.module.path(),
                                         .type = call.module.type(),
                                         .qualified_type = call.module.qualified_type(),
                                         .above = above});
  }

  size_t AddNode(NodeOp op, std::string target, const ScopeRef& scope) {
    if (graph_.nodes.size() >= kMostNodes) {
      too_large_ = true;
      return graph_.nodes.size() - 1;
    }
    graph_.nodes.push_back({.op = op, .target = std::move(target), .scope = scope});
    return graph_.nodes.size() - 1;
  }

  void AddPlaceholders(const ScopeRef& scope) {
    const std::vector<std::string> names = facts_.InputNames(root_.module, root_.span);
    for (int i = 0; i < root_.span.inputs_size(); ++i) {
      const size_t node = AddNode(NodeOp::kPlaceholder, names[static_cast<size_t>(i)], scope);
      const v1::SpanTensor& tensor = root_.span.inputs(i);
      graph_.nodes[node].dims = {DimsOf(tensor)};
      // A tensor that is given twice is the first argument's.
      if (!MakerOf(tensor)) Make(node, tensor);
    }
  }

  void Visit(const SpanNode& call, const Within& within) {
    if (too_large_) return;
    const bool is_leaf =
        !within.leaf &&
        leaves_.IsLeaf(call.module, &call == &root_ ? nullptr : &within.scope->above->path);
    Within inner = within;
    if (is_leaf) inner.leaf = AddLeaf(call, within.scope);
    for (const SpanNode& child : call.children) {
      OperatorsBefore(child.span.begin_ns(), inner);
      Visit(child,
            {.scope = inner.leaf ? inner.scope : ScopeOf(child, inner.scope), .leaf = inner.leaf});
    }
    OperatorsBefore(call.span.end_ns() + 1, inner);
    if (is_leaf) GiveOut(*inner.leaf, call.span.outputs());
  }

  size_t AddLeaf(const SpanNode& call, const ScopeRef& scope) {
    const std::string& path = call.module.path();
    const TakenList inputs = MakersOf(Foreign(call.span.inputs(), path), scope->above);
    const size_t leaf = AddNode(NodeOp::kCallModule, BelowRoot(path, root_.module.path()), scope);
    graph_.nodes[leaf].partial = call.span.partial();
    Take(leaf, inputs);
    return leaf;
  }

  void OperatorsBefore(uint64_t at_ns, const Within& within) {
    while (!operators_.empty() && operators_.front().begin_ns() < at_ns && !too_large_) {
      const v1::Operator& made = operators_.front();
      operators_ = operators_.subspan(1);
      if (within.leaf)
        FoldInto(*within.leaf, within.scope->path, made);
      else
        AddFunction(made, within.scope);
    }
  }

  void FoldInto(size_t leaf, std::string_view path, const v1::Operator& made) {
    Take(leaf, MakersOf(Foreign(made.inputs(), path), nullptr));
    for (const v1::SpanTensor& tensor : made.outputs()) Make(leaf, tensor);
    graph_.nodes[leaf].partial |= made.partial();
  }

  void AddFunction(const v1::Operator& made, const ScopeRef& scope) {
    const TakenList inputs = MakersOf(made.inputs(), scope);
    const size_t node = AddNode(NodeOp::kCallFunction, StrCat("aten.", made.name()), scope);
    Take(node, inputs);
    graph_.nodes[node].partial = made.partial();
    GiveOut(node, made.outputs());
  }

  // Without what is a parameter of the module at `path`, or of one within: those are its affair.
  Tensors Foreign(const Tensors& tensors, std::string_view path) const {
    Tensors foreign;
    for (const v1::SpanTensor& tensor : tensors) {
      const ModelFacts::NamedTensor* named = MakerOf(tensor) ? nullptr : facts_.TensorOf(tensor);
      if (named == nullptr || !named->IsWithin(path)) *foreign.Add() = tensor;
    }
    return foreign;
  }

  // A tensor that a node takes several times is one that is unknown.
  void Take(size_t node, const TakenList& inputs) {
    for (const auto& [maker, tensor_id] : inputs) {
      if (maker && *maker != node)
        graph_.edges.push_back({.from = *maker, .to = node});
      else if (!maker && (tensor_id == 0 || unknown_.emplace(node, tensor_id).second))
        ++graph_.nodes[node].unknown_inputs;
    }
  }

  // Makes nodes of parameters that are taken for the first time, where there is a scope for them.
  TakenList MakersOf(const Tensors& tensors, const ScopeRef& scope) {
    TakenList taken;
    for (const v1::SpanTensor& tensor : tensors) {
      std::optional<size_t> maker = MakerOf(tensor);
      const ModelFacts::NamedTensor* named = maker ? nullptr : facts_.TensorOf(tensor);
      if (named != nullptr && scope != nullptr) maker = AddAttribute(*named, tensor, scope);
      taken.push_back({.maker = maker, .tensor_id = tensor.tensor_id()});
    }
    return taken;
  }

  size_t AddAttribute(const ModelFacts::NamedTensor& named, const v1::SpanTensor& tensor,
                      const ScopeRef& scope) {
    const size_t node =
        AddNode(NodeOp::kGetAttr, BelowRoot(named.name, root_.module.path()), scope);
    GiveOut(node, tensor);
    return node;
  }

  // The same address is not yet the same tensor.
  std::optional<size_t> MakerOf(const v1::SpanTensor& tensor) const {
    const auto found = made_.find(tensor.tensor_id());
    if (found == made_.end() || found->second.storage_id != tensor.storage_id() ||
        found->second.dims != DimsOf(tensor)) {
      return std::nullopt;
    }
    return found->second.node;
  }

  void Make(size_t node, const v1::SpanTensor& tensor) {
    saw_tensor_ = true;
    if (tensor.tensor_id() == 0) return;
    saw_id_ = true;
    made_[tensor.tensor_id()] = {
        .node = node, .storage_id = tensor.storage_id(), .dims = DimsOf(tensor)};
  }

  void GiveOut(size_t node, const v1::SpanTensor& tensor) {
    Make(node, tensor);
    graph_.nodes[node].dims.push_back(DimsOf(tensor));
  }
  void GiveOut(size_t node, const Tensors& tensors) {
    for (const v1::SpanTensor& tensor : tensors) GiveOut(node, tensor);
  }

  const SpanNode& root_;
  std::span<const v1::Operator> operators_;  // those that are still to come
  const ModelFacts& facts_;
  const LeafPolicy& leaves_;
  ForwardGraph graph_;
  std::unordered_map<uint64_t, Made> made_;  // by tensor_id
  std::set<std::pair<size_t, uint64_t>> unknown_;
  bool saw_tensor_ = false, saw_id_ = false;
  bool too_large_ = false;
};

}  // namespace

std::optional<ForwardGraph> GraphOf(const SpanNode& root, std::span<const v1::Operator> operators,
                                    const ModelFacts& facts, const LeafPolicy& leaves) {
  return Walk(root, operators, facts, leaves).Run();
}

}  // namespace sbump
