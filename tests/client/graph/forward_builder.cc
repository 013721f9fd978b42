#include "tests/client/graph/forward_builder.h"

#include <utility>

#include "client/graph/forward_vote.h"
#include "client/graph/node_names.h"

namespace sbump::test {
namespace {

constexpr uint64_t kFirstStorage = 1'000'000;

template <typename Tensors>
void Append(const std::vector<T>& from, Tensors* to) {
  for (const T& one : from) {
    v1::SpanTensor& tensor = *to->Add();
    tensor.set_keyword(one.keyword);
    tensor.set_nested(one.nested);
    tensor.set_tensor_id(one.id);
    tensor.set_storage_id(one.storage != 0 ? one.storage : kFirstStorage + one.id);
    tensor.mutable_dims()->Add(one.dims.begin(), one.dims.end());
  }
}

}  // namespace

ForwardBuilder& ForwardBuilder::Begin(const std::string& path, const std::string& qualified_type,
                                      const std::vector<T>& inputs) {
  SpanNode node;
  node.module.set_path(path);
  node.module.set_qualified_type(qualified_type);
  node.module.set_is_sequential(qualified_type.ends_with(".Sequential"));
  node.module.set_type(qualified_type.substr(qualified_type.rfind('.') + 1));
  node.span.set_depth(static_cast<uint32_t>(open_.size()));
  node.span.set_begin_ns(++now_ns_);
  Append(inputs, node.span.mutable_inputs());
  open_.push_back(std::move(node));
  return *this;
}

ForwardBuilder& ForwardBuilder::End(const std::vector<T>& outputs) {
  SpanNode node = std::move(open_.back());
  open_.pop_back();
  node.span.set_end_ns(++now_ns_);
  Append(outputs, node.span.mutable_outputs());
  if (!open_.empty()) {
    open_.back().children.push_back(std::move(node));
  } else {
    node.operators = std::exchange(operators_, {});
    tree_ = std::move(node);
  }
  return *this;
}

ForwardBuilder& ForwardBuilder::Op(const std::string& name, const std::vector<T>& inputs,
                                   const std::vector<T>& outputs) {
  v1::Operator made;
  made.set_name(name);
  made.set_begin_ns(++now_ns_);
  made.set_end_ns(++now_ns_);
  Append(inputs, made.mutable_inputs());
  Append(outputs, made.mutable_outputs());
  operators_.push_back(std::move(made));
  return *this;
}

ForwardBuilder& ForwardBuilder::Call(const std::string& path, const std::string& qualified_type,
                                     const std::vector<T>& inputs, const std::vector<T>& outputs) {
  return Begin(path, qualified_type, inputs).End(outputs);
}

v1::Module& AddModule(v1::ListModulesReply& modules, const std::string& path) {
  v1::Module& module = *modules.add_modules();
  module.set_path(path);
  return module;
}

void AddParameter(v1::Module& module, const std::string& name, const T& tensor) {
  v1::Tensor& parameter = (*module.mutable_parameters())[name];
  parameter.set_tensor_id(tensor.id);
  parameter.set_known(true);
  parameter.mutable_dims()->Add(tensor.dims.begin(), tensor.dims.end());
}

Graph GraphFrom(const SpanNode& tree, const ModelFacts& facts, const LeafPolicy& leaves) {
  ForwardVote vote;
  size_t nodes_left = kMostNodes;
  vote.Add(*GraphOf(tree, tree.operators, facts, leaves), &nodes_left);
  Graph graph = vote.Result();
  graph.root = tree.module.path();
  GiveNames(graph.nodes);
  return graph;
}

std::vector<std::string> Lines(const Graph& graph) {
  const std::vector<std::vector<size_t>> inputs = InputsOf(graph);
  std::vector<std::string> lines;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    std::string line = node.name + ": " + std::string(NameOf(node.op)) + " " + node.target +
                       " in " + node.scope->path;
    for (size_t input : inputs[i]) {
      line += input == inputs[i].front() ? " <- " : ", ";
      line += graph.nodes[graph.edges[input].edge.from].name;
    }
    if (node.unknown_inputs != 0) line += " + " + std::to_string(node.unknown_inputs) + " unknown";
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> Edges(const Graph& graph) {
  std::vector<std::string> edges;
  for (const VotedEdge& edge : graph.edges)
    edges.push_back(graph.nodes[edge.edge.from].name + " -> " + graph.nodes[edge.edge.to].name);
  return edges;
}

}  // namespace sbump::test
