#include "daemon/rpc/modules_to_proto.h"

#include <algorithm>

#include "daemon/base/str_cat.h"
#include "daemon/rpc/module_query.h"
#include "daemon/rpc/pieces.h"
#include "daemon/rpc/to_proto.h"
#include "daemon/rpc/wire_text.h"

namespace sbump {
namespace {

constexpr int kMostPatterns = 1000;
// A process can give each of 200,000 modules another name for another.
constexpr size_t kMostWarnings = 100;

void ToProto(const Value& value, google::protobuf::Value& message) {
  switch (value.kind) {
    case Value::Kind::kNone:
      message.set_null_value(google::protobuf::NULL_VALUE);
      return;
    case Value::Kind::kBool:
      message.set_bool_value(value.boolean);
      return;
    case Value::Kind::kInt:
      message.set_number_value(static_cast<double>(value.integer));
      return;
    case Value::Kind::kFloat:
      message.set_number_value(value.floating);
      return;
    case Value::Kind::kStr:
      message.set_string_value(Utf8(value.text));
      return;
    case Value::Kind::kTuple:
    case Value::Kind::kList:
      auto& list = *message.mutable_list_value();
      list.Clear();
      for (const Value& item : value.items) ToProto(item, *list.add_values());
      return;
  }
}

// Whether a double may not tell it from its neighbours.
bool NeedsExact(const Value& value) {
  constexpr int64_t kMostOfADouble = int64_t{1} << 53;
  if (value.kind == Value::Kind::kInt)
    return value.integer > kMostOfADouble || value.integer < -kMostOfADouble;
  return std::ranges::any_of(value.items, NeedsExact);
}

void FillParams(const NamedValues& values, v1::Module& message) {
  auto& fields = *message.mutable_static_params()->mutable_fields();
  for (const auto& [name, value] : values) {
    const std::string key = Utf8(name);
    ToProto(value, fields[key]);
    if (NeedsExact(value)) {
      (*message.mutable_exact_params())[key] = Utf8(Repr(value));
    } else {
      message.mutable_exact_params()->erase(key);
    }
  }
}

void FillTensors(const std::vector<NamedTensor>& tensors,
                 google::protobuf::Map<std::string, v1::Tensor>& map) {
  uint32_t index = 0;
  for (const NamedTensor& one : tensors) {
    v1::Tensor& message = map[Utf8(one.name)];
    message.set_index(index++);
    if (!one.tensor) continue;
    message.set_known(true);
    message.set_tensor_id(one.tensor->impl.value);
    for (int64_t dim : one.tensor->dims) message.add_dims(dim);
    message.set_dtype(one.tensor->dtype);
    message.set_device(one.tensor->device);
  }
}

void FillModule(const Module& module, const ModulesSpec& spec, v1::Module& message) {
  message.set_path(Utf8(module.path));
  message.set_module_id(module.object.value);
  message.set_type(Utf8(module.type_name));
  message.set_qualified_type(Utf8(module.full_type));
  message.set_type_module(Utf8(module.type_module));
  if (module.training) message.set_training(*module.training);
  FillTensors(module.parameters, *message.mutable_parameters());
  FillTensors(module.buffers, *message.mutable_buffers());
  FillParams(module.attributes, message);
  // One of the same name has the seed's form: a pool's stride as a list.
  FillParams(module.static_params, message);
  if (!module.static_params.empty())
    message.set_static_params_text(Utf8(ReprOfDict(module.static_params)));
  for (const std::string& alias : module.aliases) message.add_aliases(Utf8(alias));
  message.set_skipped(spec.skip_types.Take(module));
  message.set_note(Utf8(module.note));
  message.set_is_sequential(module.IsA(kSequential));
  message.set_is_module_list(module.IsA(kModuleList));
}

template <typename Message>
void FillWarnings(const ModulesResult& result, Message& message) {
  std::vector<std::string> all = result.warnings;
  all.insert(all.end(), result.forest.warnings.begin(), result.forest.warnings.end());
  for (const std::string& warning : all) {
    if (static_cast<size_t>(message.warnings_size()) == kMostWarnings) {
      message.add_warnings(StrCat("and ", all.size() - kMostWarnings, " more"));
      return;
    }
    message.add_warnings(Utf8(warning));
  }
}

}  // namespace

absl::StatusOr<ModulesSpec> ToSpec(const v1::ListModulesRequest& request) {
  ModulesSpec spec;
  if (request.pid() <= 0) return absl::InvalidArgumentError("pid: a process is needed");
  SB_RETURN_IF_ERROR(TakeTree(request.root(),
                              request.has_prefix() ? std::optional(request.prefix()) : std::nullopt,
                              spec.query));
  SB_RETURN_IF_ERROR(
      TakeCallables(request.callables(), request.no_default_callables(), spec.query));
  if (request.patterns_size() > kMostPatterns)
    return absl::InvalidArgumentError("more than 1,000 patterns");
  for (const std::string& text : request.patterns()) {
    SB_ASSIGN_OR_RETURN(ModulePattern pattern, ModulePattern::Compile(text));
    spec.patterns.push_back(std::move(pattern));
  }
  SB_ASSIGN_OR_RETURN(spec.skip_types,
                      ToSkipTypes(request.skip_types(), request.no_default_skip_types()));
  spec.max_stop_ns = request.max_stop_ns();
  if (spec.max_stop_ns > kLargestMaxStopNs)
    return absl::InvalidArgumentError("max_stop_ns is above 10 s");
  return spec;
}

std::vector<v1::ListModulesReply> ToReplies(const ModulesResult& result, const ModulesSpec& spec) {
  v1::ListModulesReply common;
  ToProto(result.process, *common.mutable_process());
  common.set_models(static_cast<uint32_t>(result.forest.models()));
  common.set_modules_seen(result.forest.modules());
  common.set_callables(result.forest.callables());
  common.set_tensor_layout(result.forest.tensor_layout);
  common.set_read_ns(result.read_ns);
  common.set_stopped_ns(result.times.stopped_ns);
  common.set_readings(static_cast<uint32_t>(result.forest.readings));
  Pieces<v1::ListModulesReply> pieces(std::move(common));
  FillWarnings(result, pieces.First());
  for (const ModuleTree& tree : result.forest.trees) {
    for (const Module& module : tree.modules) {
      if (!IsTaken(module, spec)) continue;
      v1::Module& message = pieces.Next(&v1::ListModulesReply::add_modules);
      FillModule(module, spec, message);
      const auto parameters = result.forward_parameters.find(module.type.value);
      if (parameters == result.forward_parameters.end()) continue;
      for (const std::string& name : parameters->second) message.add_forward_parameters(Utf8(name));
    }
  }
  for (const Tie& tie : result.forest.ties) {
    v1::Tie& message = pieces.Next(&v1::ListModulesReply::add_ties);
    for (const std::string& name : tie.names) message.add_names(Utf8(name));
    message.set_same_tensor(tie.same_tensor);
  }
  return pieces.Take();
}

}  // namespace sbump
