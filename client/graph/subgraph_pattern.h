// What to look for in a graph: "matmul > div > softmax", a chain of nodes of which each takes what
// the one before it gives.
//
//   softmax          an operator, of any overload; an in-place one is written so: add_
//   softmax.int      an operator's overload
//   Linear           a module that is a node, by its type's name or full name
//   module("REGEX")  a module that is a node, by a regular expression that matches its target
//                    ("layers.0.attn.q_proj"), or what of it is below the module that calls it
//                    ("q_proj"), from the begin on, as Python's re.match() does; \" within is a
//                    quote
//
// What is the same as an operator and as a module (linear, Linear) takes both, as slapo.schedule's
// find_subgraph() has it (awslabs/slapo at b80534a).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/graph/graph.h"
#include "daemon/match/module_pattern.h"

namespace sbump {

class SubgraphPattern {
 public:
  static constexpr size_t kLongestText = 4096;
  static constexpr size_t kMostItems = 64;

  // kInvalidArgument: what, and in which item.
  static absl::StatusOr<SubgraphPattern> Parse(std::string_view text);

  size_t size() const { return items_.size(); }
  // Whether a node is one that item `at` takes.
  bool Takes(size_t at, const GraphNode& node) const;

 private:
  struct Item {
    std::string name;                   // without "aten."
    std::optional<ModulePattern> path;  // of module("..."): then there is no name
  };
  static absl::StatusOr<Item> ParseItem(std::string_view text);

  std::vector<Item> items_;
};

}  // namespace sbump
