#include "daemon/torch/loose_tensors.h"

#include <unordered_map>

#include "daemon/cpython/attributes.h"
#include "daemon/cpython/named_object.h"

namespace sbump {
namespace {

// Null: its instances are no tensors.
class TensorTypes {
 public:
  explicit TensorTypes(Types& types) : types_(types) {}
  const TypeObject* Find(RemoteAddr type) {
    const auto [known, is_new] = known_.try_emplace(type.value, nullptr);
    if (!is_new) return known->second;
    const absl::StatusOr<const TypeObject*> found = types_.Find(type);
    if (found.ok() && IsTensor(**found)) known->second = *found;
    return known->second;
  }

 private:
  Types& types_;
  std::unordered_map<uint64_t, const TypeObject*> known_;
};

bool HasTorch(const MemoryReader& memory, const Interpreter& interpreter) {
  const auto tensor = FindNamed(memory, interpreter, "torch", "Tensor");
  return tensor.ok() && !tensor->empty();
}

}  // namespace

std::vector<TensorSample> LooseTensors(const MemoryReader& memory, const Interpreter& interpreter,
                                       ListOwner owner, Types& types, const MemoryReader& fresh) {
  std::vector<TensorSample> samples;
  if (!HasTorch(memory, interpreter)) return samples;
  const absl::StatusOr<GcLists> lists = GcLists::Find(memory, interpreter);
  if (!lists.ok()) return samples;
  TensorTypes tensors(types);
  const AttributeReader attributes(memory, interpreter);
  const auto visit = [&](RemoteAddr object, RemoteAddr type) {
    const TypeObject* tensor = tensors.Find(type);
    if (tensor != nullptr && attributes.CheckAlive(*tensor, object).ok())
      samples.push_back({object, std::nullopt});
    return samples.size() < kMostSamples;
  };
  for (RemoteAddr head : lists->heads()) {
    if (samples.size() == kMostSamples) break;
    if (!WalkGcList(memory, head, owner, visit, &fresh).ok()) return {};
  }
  return samples;
}

}  // namespace sbump
