#include "tests/torch/fake_torch.h"

namespace sbump {
namespace {

constexpr uint64_t kImplBytes = 256, kStorageBytes = 128;

}  // namespace

FakeTorch::FakeTorch(int minor, FakeTensorPlaces places) : objects_(minor), places_(places) {
  module_type_ = objects_.NewClass("torch.nn.modules.module", "Module");
  tensor_type_ =
      objects_.NewClass("torch", "Tensor", {objects_.NewClass("torch._C", "_TensorBase")});
  objects_.Import("torch.nn.modules.module", {{"Module", module_type_}});
  objects_.Import("torch", {{"Tensor", tensor_type_}});
}

RemoteAddr FakeTorch::Class(std::string_view module, std::string_view name,
                            const std::vector<RemoteAddr>& bases) {
  std::vector<RemoteAddr> all = bases;
  all.push_back(module_type_);
  return objects_.NewClass(module, name, all);
}

RemoteAddr FakeTorch::NewTensor(const TensorSpec& spec) {
  RemoteAddr impl = spec.impl;
  if (!impl) {
    impl = objects_.python().Allocate(kImplBytes);
    const RemoteAddr sizes = impl + places_.sizes;
    const auto count = static_cast<int64_t>(spec.dims.size());
    RemoteAddr dims = sizes + 8, strides = sizes + 48;
    if (count > 5) {
      dims = objects_.python().Allocate(16 * spec.dims.size());
      strides = dims + 8 * count;
      memory().Put(sizes + 8, dims);
    }
    int64_t numel = 1;
    for (int64_t i = count; i-- > 0;) {
      memory().Put(dims + 8 * i, spec.dims[static_cast<size_t>(i)]);
      memory().Put(strides + 8 * i, numel);
      numel *= spec.dims[static_cast<size_t>(i)];
    }
    memory().Put(sizes, count);
    memory().Put(sizes + 96, numel);
    memory().Put(sizes + 104, spec.dtype);
    const auto index = static_cast<uint8_t>(spec.device_index);
    const uint8_t first[] = {1, spec.device, index}, last[] = {spec.device, index, 1};
    memory().PutBytes(sizes + 106,
                      std::as_bytes(std::span(places_.device_flag_first ? first : last)));
    RemoteAddr storage = spec.storage;
    if (!storage) {
      storage = objects_.python().Allocate(kStorageBytes);
      memory().Put(storage + places_.storage + 32, 4 * numel);
    }
    memory().Put(impl + places_.storage, storage);
  }
  // Behind its head a tensor has what torch keeps there; its attributes are not looked at.
  const RemoteAddr tensor = objects_.python().Allocate(kGcHeadSize + 64) + kGcHeadSize;
  memory().Put(tensor, uint64_t{1});
  memory().Put(tensor + kObType, tensor_type_);
  objects_.python().Track(tensor, 0);
  memory().Put(tensor + places_.impl, impl);
  return tensor;
}

RemoteAddr FakeTorch::NewModule(const ModuleSpec& spec) {
  FakeObjects::Attributes all = {{"training", objects_.Bool(true)},
                                 {"_parameters", objects_.Dict(spec.parameters)},
                                 {"_buffers", objects_.Dict(spec.buffers)},
                                 {"_modules", objects_.Dict(spec.children)}};
  all.insert(all.end(), spec.attributes.begin(), spec.attributes.end());
  return objects_.NewInstance(spec.type ? spec.type : module_type_, all, spec.place);
}

}  // namespace sbump
