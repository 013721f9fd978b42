// torch in a FakePython: its classes, modules, and tensors as a version of torch lays them out.
#pragma once

#include <string_view>
#include <vector>

#include "tests/fakes/fake_objects.h"

namespace sbump {

// Offsets of c10::TensorImpl and of what is in a Python tensor.
struct FakeTensorPlaces {
  int32_t impl = 24, sizes = 72, storage = 24;
  bool device_flag_first = true;
};
inline constexpr FakeTensorPlaces kTorch113 = {};
inline constexpr FakeTensorPlaces kTorch26 = {
    .sizes = 64, .storage = 16, .device_flag_first = false};
inline constexpr FakeTensorPlaces kTorch214 = {
    .impl = 16, .sizes = 56, .storage = 16, .device_flag_first = false};

class FakeTorch {
 public:
  explicit FakeTorch(int minor, FakeTensorPlaces places = kTorch113);

  FakeObjects& objects() { return objects_; }
  FakeMemory& memory() { return objects_.memory(); }
  const Interpreter& interpreter() const { return objects_.interpreter(); }
  RemoteAddr module_type() const { return module_type_; }
  // torch.nn's class of that module and name, derived from Module.
  RemoteAddr Class(std::string_view module, std::string_view name,
                   const std::vector<RemoteAddr>& bases = {});

  struct TensorSpec {
    std::vector<int64_t> dims;
    uint16_t dtype = 6;  // float32
    uint8_t device = 0;  // cpu
    int8_t device_index = -1;
    RemoteAddr storage;  // null: one of its own, which it fills
    RemoteAddr impl;     // null: one of its own
  };
  RemoteAddr NewTensor(const TensorSpec& spec);
  RemoteAddr ImplOf(RemoteAddr tensor) { return *memory().ReadPointer(tensor + places_.impl); }
  RemoteAddr StorageOf(RemoteAddr tensor) {
    return *memory().ReadPointer(ImplOf(tensor) + places_.storage);
  }

  struct ModuleSpec {
    RemoteAddr type;  // null: torch.nn.Module's own
    FakeObjects::Attributes children, parameters, buffers, attributes;
    AttributePlace place = AttributePlace::kSplitDict;
  };
  RemoteAddr NewModule(const ModuleSpec& spec);

 private:
  FakeObjects objects_;
  const FakeTensorPlaces places_;
  RemoteAddr module_type_, tensor_type_;
};

}  // namespace sbump
