// Forwards of one module vote on its graph. An address that was used again makes an edge that is
// none: seldom the same one in each forward, but an allocator may well give the same one each time,
// to a number that became a tensor, say, of which nobody tells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "client/graph/forward_graph.h"
#include "client/graph/graph.h"

namespace sbump {

// An edge in fewer forwards is left out.
inline constexpr double kLeastConfidence = 0.9;

class ForwardVote {
 public:
  // Distinct edges of a variant; further ones are left out.
  static constexpr size_t kMostEdges = 400'000;

  // Forwards whose nodes are equal are a variant. `nodes_left`: of new variants so many nodes may
  // still be kept; others are only counted.
  void Add(ForwardGraph forward, size_t* nodes_left);
  uint64_t forwards() const { return forwards_; }

  // Of the variant that most forwards have, the first such one; without names.
  Graph Result() const;

 private:
  struct Variant {
    uint64_t signature = 0;  // equal for equal nodes
    uint64_t forwards = 0;
    bool shapes_unknown = false, tensors_alike = false;
    std::vector<GraphNode> nodes;            // of the first one; unknown_inputs of all
    std::map<GraphEdge, uint64_t> edges;     // forwards that have it
    std::map<uint64_t, uint64_t> edge_sets;  // forwards, by the signature of all their edges
    uint64_t left_out = 0;
  };

  Variant* VariantOf(const ForwardGraph& forward, size_t* nodes_left);
  static void Merge(const ForwardGraph& forward, Variant& variant);
  static void CountEdges(const Variant& variant, Graph& graph);

  uint64_t forwards_ = 0;
  std::vector<Variant> variants_;
  std::set<uint64_t> not_kept_;  // signatures
};

}  // namespace sbump
