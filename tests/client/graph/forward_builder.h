// Writes forwards down call by call, and graphs as short text.
#pragma once

#include <string>
#include <vector>

#include "client/graph/forward_graph.h"
#include "client/spans/span_tree.h"

namespace sbump::test {

inline constexpr char kLinear[] = "torch.nn.modules.linear.Linear";

// A tensor by its id. It has a storage of its own, and dims, unless others are given.
struct T {
  uint64_t id;
  Dims dims = {2, 3};
  uint64_t storage = 0;  // 0: its own
  std::string keyword = "";
  bool nested = false;
};

class ForwardBuilder {
 public:
  ForwardBuilder& Begin(const std::string& path, const std::string& qualified_type,
                        const std::vector<T>& inputs = {});
  ForwardBuilder& End(const std::vector<T>& outputs = {});
  ForwardBuilder& Op(const std::string& name, const std::vector<T>& inputs,
                     const std::vector<T>& outputs);
  // A call without anything within it.
  ForwardBuilder& Call(const std::string& path, const std::string& qualified_type,
                       const std::vector<T>& inputs, const std::vector<T>& outputs);
  // The outermost call, which has ended, with its operators.
  SpanNode Tree() const { return tree_; }
  SpanNode& tree() { return tree_; }

 private:
  uint64_t now_ns_ = 100;
  std::vector<SpanNode> open_;
  std::vector<v1::Operator> operators_;
  SpanNode tree_;
};

// A module of the reply.
v1::Module& AddModule(v1::ListModulesReply& modules, const std::string& path);
void AddParameter(v1::Module& module, const std::string& name, const T& tensor);

// The graph of one forward, with names.
Graph GraphFrom(const SpanNode& tree, const ModelFacts& facts = {}, const LeafPolicy& leaves = {});

// "add: call_function aten.add.Tensor in top <- x, fc"; each node.
std::vector<std::string> Lines(const Graph& graph);
// "x -> fc"; each edge.
std::vector<std::string> Edges(const Graph& graph);

}  // namespace sbump::test
