// Tensors of the target: Python's torch.Tensor and the c10::TensorImpl behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/cpython/types.h"
#include "daemon/process/remote_memory.h"

namespace sbump {

struct Tensor {
  std::vector<int64_t> dims;
  std::string dtype;   // "float32", as torch.dtype has it; empty: one that sbump does not know
  std::string device;  // "cpu", "cuda:0"; empty: not known
  RemoteAddr impl;     // c10::TensorImpl*: the same for two names of one tensor
  RemoteAddr storage;  // c10::StorageImpl*: the same for views of one memory; null: not known

  bool operator==(const Tensor&) const = default;
};

// A tensor object that is there, and the dims that it must have where the module says so (a
// Linear's weight).
struct TensorSample {
  RemoteAddr object;
  std::optional<std::vector<int64_t>> dims;
};

// Where torch keeps what. Names and order of the members: c10/core/TensorImpl.h, StorageImpl.h,
// torch/csrc/autograd/python_variable.h, at v1.13.1, v2.3.0 and v2.13.
struct TensorLayout {
  int32_t impl = 0;                // in the Python object: TensorImpl*
  int32_t sizes = 0;               // in the TensorImpl: sizes_and_strides_
  int32_t storage = -1;            // storage_; -1: not known
  bool device_flag_first = false;  // of the optional device: before it, or behind it
  bool knows_device = false;
  bool contradicted = false;  // some TensorSample says other dims than it has there

  bool operator==(const TensorLayout&) const = default;
};

// Tries each place that can be, on all of `samples` (at most kMostSamples are looked at). One that
// modules contradict is taken only where each is, and most of them agree with it.
// kDataLoss: none fits them all; kFailedPrecondition: several do, or no sample tells them apart.
inline constexpr size_t kMostSamples = 256;
absl::StatusOr<TensorLayout> CalibrateTensors(const MemoryReader& memory,
                                              const std::vector<TensorSample>& samples);

// The object has been proven to be one (IsTensor). kDataLoss: what is there cannot be a tensor's.
absl::StatusOr<Tensor> ReadTensor(const MemoryReader& memory, const TensorLayout& layout,
                                  RemoteAddr object);

bool IsTensor(const TypeObject& type);

}  // namespace sbump
