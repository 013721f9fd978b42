#include "client/graph/model_facts.h"

#include <algorithm>
#include <optional>

#include "client/module_path.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

using Tensors = google::protobuf::RepeatedPtrField<v1::SpanTensor>;

bool IsPositional(const v1::SpanTensor& tensor) { return tensor.keyword().empty(); }

// The parameters that positional tensors are given for; nullopt: that cannot be told, since
// arguments that are no tensors leave no trace. It can where there are as many as parameters
// without a keyword, and none is in a list.
std::optional<std::vector<std::string>> PositionalNames(const Tensors& inputs,
                                                        std::vector<std::string> parameters) {
  for (const v1::SpanTensor& tensor : inputs) {
    if (tensor.nested()) return std::nullopt;
    if (!IsPositional(tensor)) std::erase(parameters, tensor.keyword());
  }
  if (std::ranges::count_if(inputs, IsPositional) != std::ssize(parameters)) return std::nullopt;
  return parameters;
}

}  // namespace

ModelFacts::ModelFacts(const v1::ListModulesReply& modules) {
  for (const v1::Module& module : modules.modules()) {
    forward_parameters_[module.path()].assign(module.forward_parameters().begin(),
                                              module.forward_parameters().end());
    for (const auto* named : {&module.parameters(), &module.buffers()}) {
      for (const auto& [name, tensor] : *named) {
        if (tensor.tensor_id() == 0 || !tensor.known()) continue;
        NamedTensor first{.name = StrCat(module.path(), module.path().empty() ? "" : ".", name),
                          .dims = {tensor.dims().begin(), tensor.dims().end()}};
        const auto known = tensors_.try_emplace(tensor.tensor_id(), std::move(first)).first;
        known->second.owners.push_back(module.path());
      }
    }
  }
}

bool ModelFacts::NamedTensor::IsWithin(std::string_view path) const {
  return std::ranges::any_of(
      owners, [&](const std::string& owner) { return owner == path || IsBelow(owner, path); });
}

const ModelFacts::NamedTensor* ModelFacts::TensorOf(const v1::SpanTensor& tensor) const {
  const auto found = tensors_.find(tensor.tensor_id());
  return found != tensors_.end() && found->second.dims == DimsOf(tensor) ? &found->second : nullptr;
}

std::vector<std::string> ModelFacts::InputNames(const v1::SpanModule& module,
                                                const v1::Span& call) const {
  const auto found = forward_parameters_.find(module.path());
  std::optional<std::vector<std::string>> parameters;
  if (found != forward_parameters_.end())
    parameters = PositionalNames(call.inputs(), found->second);
  std::vector<std::string> names;
  size_t positional = 0;
  for (const v1::SpanTensor& tensor : call.inputs()) {
    if (IsPositional(tensor) && parameters)
      names.push_back((*parameters)[positional++]);
    else if (IsPositional(tensor) || tensor.keyword() == "?")
      names.push_back(StrCat("input_", names.size()));
    else
      names.push_back(tensor.keyword());
  }
  return names;
}

std::string ModelFacts::OutermostOf(std::string_view path) const {
  std::string_view outermost = path;
  for (auto above = PathAbove(path); above; above = PathAbove(*above))
    if (forward_parameters_.contains(*above)) outermost = *above;
  return std::string(outermost);
}

std::map<std::string, size_t> ModelFacts::SizesOfOutermost() const {
  std::map<std::string, size_t> sizes;
  for (const auto& [path, parameters] : forward_parameters_) ++sizes[OutermostOf(path)];
  return sizes;
}

std::string BelowRoot(std::string_view path, std::string_view root) {
  const bool below =
      path.size() > root.size() && path.starts_with(root) && path[root.size()] == '.';
  return std::string(below ? path.substr(root.size() + 1) : path);
}

Dims DimsOf(const v1::SpanTensor& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

}  // namespace sbump
