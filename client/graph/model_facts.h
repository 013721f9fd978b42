// What the tree of modules says that a graph needs: names of tensors, and of a forward's arguments.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client/graph/graph.h"
#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

class ModelFacts {
 public:
  struct NamedTensor {
    std::string name;  // "top.layers.0.scale"
    Dims dims;
    std::vector<std::string> owners;  // paths of the modules that have it

    // Whether a module has it that is at `path`, or within.
    bool IsWithin(std::string_view path) const;
  };

  ModelFacts() = default;
  explicit ModelFacts(const v1::ListModulesReply& modules);

  // A parameter or buffer; null: it is none. Of several names the first one.
  const NamedTensor* TensorOf(const v1::SpanTensor& tensor) const;
  // A name for each tensor that goes into a call of this module: the keyword's, or the parameter's
  // of its forward(), or "input_2".
  std::vector<std::string> InputNames(const v1::SpanModule& module, const v1::Span& call) const;
  // Whether no other module holds it.
  bool IsOutermost(std::string_view path) const { return OutermostOf(path) == path; }
  // The path of the one that holds it, and is held by none.
  std::string OutermostOf(std::string_view path) const;
  // How many modules each outermost one is, with all within it.
  std::map<std::string, size_t> SizesOfOutermost() const;
  bool HasModule(std::string_view path) const { return forward_parameters_.contains(path); }

 private:
  std::unordered_map<uint64_t, NamedTensor> tensors_;                                // by tensor_id
  std::map<std::string, std::vector<std::string>, std::less<>> forward_parameters_;  // by path
};

// `path` below `root`: "layers.0.fc". `path` itself where it is not below it.
std::string BelowRoot(std::string_view path, std::string_view root);

Dims DimsOf(const v1::SpanTensor& tensor);

}  // namespace sbump
