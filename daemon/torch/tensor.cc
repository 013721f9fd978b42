#include "daemon/torch/tensor.h"

#include <algorithm>
#include <array>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr int64_t kMostDims = 64;
constexpr int64_t kInlineDims = 5;  // c10/core/impl/SizesAndStrides.h
constexpr int32_t kInlineSizes = 8, kInlineStrides = 48;
// From sizes_and_strides_ on, the members follow each other in every version.
constexpr int32_t kStorageOffset = 88, kNumel = 96, kDataType = 104, kDevice = 106;
constexpr int32_t kStorageSizeBytes = 32;  // from TensorImpl.storage_'s own offset, in StorageImpl
constexpr int32_t kImplCandidates[] = {16, 24, 32, 40};
constexpr int32_t kSizesCandidates[] = {40, 48, 56, 64, 72, 80, 88, 96};
constexpr int32_t kStorageCandidates[] = {16, 24, 32};

struct DataType {
  std::string_view name;
  int64_t bytes = 0;
};

// By c10::ScalarType (c10/core/ScalarType.h at v1.13.1 and v2.8.0; the last one as 2.14 has it:
// later ones are only added); caffe2::TypeMeta holds the same index.
constexpr DataType kDataTypes[] = {{"uint8", 1},
                                   {"int8", 1},
                                   {"int16", 2},
                                   {"int32", 4},
                                   {"int64", 8},
                                   {"float16", 2},
                                   {"float32", 4},
                                   {"float64", 8},
                                   {"complex32", 4},
                                   {"complex64", 8},
                                   {"complex128", 16},
                                   {"bool", 1},
                                   {"qint8", 1},
                                   {"quint8", 1},
                                   {"qint32", 4},
                                   {"bfloat16", 2},
                                   {"quint4x2", 1},
                                   {"quint2x4", 1},
                                   {"bits1x8", 1},
                                   {"bits2x4", 1},
                                   {"bits4x2", 1},
                                   {"bits8", 1},
                                   {"bits16", 2},
                                   {"float8_e5m2", 1},
                                   {"float8_e4m3fn", 1},
                                   {"float8_e5m2fnuz", 1},
                                   {"float8_e4m3fnuz", 1},
                                   {"uint16", 2},
                                   {"uint32", 4},
                                   {"uint64", 8},
                                   {"uint1", 1},
                                   {"uint2", 1},
                                   {"uint3", 1},
                                   {"uint4", 1},
                                   {"uint5", 1},
                                   {"uint6", 1},
                                   {"uint7", 1},
                                   {"int1", 1},
                                   {"int2", 1},
                                   {"int3", 1},
                                   {"int4", 1},
                                   {"int5", 1},
                                   {"int6", 1},
                                   {"int7", 1},
                                   {"float8_e8m0fnu", 1},
                                   {"float4_e2m1fn_x2", 1},
                                   {"bcomplex32", 4}};

// By c10::DeviceType (c10/core/DeviceType.h).
constexpr std::string_view kDevices[] = {"cpu", "cuda", "mkldnn",       "opengl", "opencl", "ideep",
                                         "hip", "fpga", "maia",         "xla",    "vulkan", "metal",
                                         "xpu", "mps",  "meta",         "hpu",    "ve",     "lazy",
                                         "ipu", "mtia", "privateuseone"};

struct Raw {
  RemoteAddr impl;
  std::vector<int64_t> dims, strides;
  int64_t storage_offset = 0, numel = 0;
  uint16_t data_type = 0;
  std::array<uint8_t, 3> device{};
};

// No overflow: none of the product's factors is negative.
std::optional<int64_t> Product(const std::vector<int64_t>& dims) {
  int64_t product = 1;
  for (int64_t dim : dims) {
    if (__builtin_mul_overflow(product, dim, &product)) return std::nullopt;
  }
  return product;
}

absl::Status ReadDims(const MemoryReader& memory, RemoteAddr sizes, Raw& raw) {
  SB_ASSIGN_OR_RETURN(int64_t count, memory.ReadValue<int64_t>(sizes));
  if (count < 0 || count > kMostDims)
    return absl::DataLossError(StrCat("a tensor of ", count, " dims"));
  RemoteAddr first = sizes + kInlineSizes, first_stride = sizes + kInlineStrides;
  if (count > kInlineDims) {
    SB_ASSIGN_OR_RETURN(first, memory.ReadPointer(first));
    if (!first.Plausible()) return absl::DataLossError("a tensor without sizes");
    first_stride = first + 8 * count;
  }
  raw.dims.resize(static_cast<size_t>(count));
  raw.strides.resize(static_cast<size_t>(count));
  if (count == 0) return absl::OkStatus();
  SB_RETURN_IF_ERROR(memory.Read(first, std::as_writable_bytes(std::span(raw.dims))));
  return memory.Read(first_stride, std::as_writable_bytes(std::span(raw.strides)));
}

// kDataLoss where it contradicts itself.
absl::StatusOr<Raw> ReadRaw(const MemoryReader& memory, int32_t impl, int32_t sizes,
                            RemoteAddr object) {
  Raw raw;
  SB_ASSIGN_OR_RETURN(raw.impl, memory.ReadPointer(object + impl));
  if (!raw.impl.Plausible()) return absl::DataLossError("a tensor without an implementation");
  const RemoteAddr at = raw.impl + sizes;
  SB_RETURN_IF_ERROR(ReadDims(memory, at, raw));
  SB_ASSIGN_OR_RETURN(raw.storage_offset, memory.ReadValue<int64_t>(at + kStorageOffset));
  SB_ASSIGN_OR_RETURN(raw.numel, memory.ReadValue<int64_t>(at + kNumel));
  SB_ASSIGN_OR_RETURN(raw.data_type, memory.ReadValue<uint16_t>(at + kDataType));
  SB_ASSIGN_OR_RETURN(raw.device, memory.ReadValue<decltype(raw.device)>(at + kDevice));
  const auto negative = [](int64_t value) { return value < 0; };
  if (std::ranges::any_of(raw.dims, negative) || Product(raw.dims) != raw.numel)
    return absl::DataLossError("a tensor whose sizes are not those of its elements");
  if (raw.storage_offset < 0) return absl::DataLossError("a tensor before its storage");
  return raw;
}

// ndim 0 has numel 1 wherever two words are 0 and 1.
bool TellsPlacesApart(const Raw& raw) { return !raw.dims.empty() && raw.numel > 1; }

bool Fits(const MemoryReader& memory, int32_t impl, int32_t sizes,
          const std::vector<TensorSample>& samples, std::vector<Raw>& raws) {
  raws.clear();
  for (const TensorSample& sample : samples) {
    absl::StatusOr<Raw> raw = ReadRaw(memory, impl, sizes, sample.object);
    if (!raw.ok()) return false;
    raws.push_back(*std::move(raw));
  }
  return std::ranges::any_of(raws, TellsPlacesApart);
}

// Bytes from the storage's begin to the end of the last element; nothing: an unknown type, strides
// that make no sense.
std::optional<int64_t> Extent(const Raw& raw) {
  if (raw.data_type >= std::size(kDataTypes)) return std::nullopt;
  int64_t last = raw.storage_offset;
  for (size_t i = 0; i < raw.dims.size(); ++i) {
    int64_t step = 0;
    if (raw.strides[i] < 0 || raw.dims[i] == 0)
      return raw.dims[i] == 0 ? std::optional(0) : std::nullopt;
    if (__builtin_mul_overflow(raw.dims[i] - 1, raw.strides[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      return std::nullopt;
  }
  int64_t elements = 0, bytes = 0;
  if (__builtin_add_overflow(last, 1, &elements) ||
      __builtin_mul_overflow(elements, kDataTypes[raw.data_type].bytes, &bytes))
    return std::nullopt;
  return bytes;
}

// Bytes that the storage has beyond the tensor's end; negative: it is no storage of this tensor.
int64_t SpareBytes(const MemoryReader& memory, int32_t offset, const Raw& raw) {
  const absl::StatusOr<RemoteAddr> storage = memory.ReadPointer(raw.impl + offset);
  const std::optional<int64_t> extent = Extent(raw);
  if (!storage.ok() || !storage->Plausible() || !extent) return -1;
  const absl::StatusOr<int64_t> size =
      memory.ReadValue<int64_t>(*storage + offset + kStorageSizeBytes);
  constexpr int64_t kLargest = int64_t{1} << 46;
  if (!size.ok() || *size < 0 || *size >= kLargest || *extent < 0) return -1;
  return *size - *extent;
}

// Each tensor lies in its storage, and some fill theirs.
bool StoragesFit(const MemoryReader& memory, int32_t offset, const std::vector<Raw>& raws) {
  bool one_is_full = false;
  for (const Raw& raw : raws) {
    const int64_t spare = SpareBytes(memory, offset, raw);
    if (spare < 0) return false;
    one_is_full |= spare == 0 && TellsPlacesApart(raw);
  }
  return one_is_full;
}

// -1: not exactly one place fits.
int32_t CalibrateStorage(const MemoryReader& memory, const std::vector<Raw>& raws) {
  int32_t found = -1;
  for (int32_t candidate : kStorageCandidates) {
    if (!StoragesFit(memory, candidate, raws)) continue;
    if (found != -1) return -1;
    found = candidate;
  }
  return found;
}

// "": what is there is no device.
std::string DeviceText(const std::array<uint8_t, 3>& bytes, bool flag_first) {
  const uint8_t flag = flag_first ? bytes[0] : bytes[2];
  const uint8_t type = flag_first ? bytes[1] : bytes[0];
  const auto index = static_cast<int8_t>(flag_first ? bytes[2] : bytes[1]);
  if (flag != 1 || type >= std::size(kDevices) || index < -1) return "";
  if (type == 0 && index > 0) return "";  // c10/core/Device.h, validate(): the CPU is one
  const std::string name(kDevices[type]);
  return index < 0 ? name : StrCat(name, ":", int{index});
}

// Which order gives a device for every sample. Where both do, all say the same or none is told.
void CalibrateDevice(const std::vector<Raw>& raws, TensorLayout& layout) {
  const auto fits = [&](bool flag_first) {
    return std::ranges::all_of(
        raws, [&](const Raw& raw) { return !DeviceText(raw.device, flag_first).empty(); });
  };
  const bool first = fits(true), last = fits(false);
  const auto same = [](const Raw& raw) {
    return DeviceText(raw.device, true) == DeviceText(raw.device, false);
  };
  layout.device_flag_first = first;
  layout.knows_device = first != last || (first && std::ranges::all_of(raws, same));
}

struct Place {
  int32_t impl = 0, sizes = 0;
  std::vector<Raw> raws;      // of the samples there
  size_t contradictions = 0;  // samples whose module says other dims
};

size_t Contradictions(const std::vector<TensorSample>& samples, const std::vector<Raw>& raws) {
  size_t count = 0;
  for (size_t i = 0; i < samples.size(); ++i)
    count += samples[i].dims && *samples[i].dims != raws[i].dims;
  return count;
}

std::vector<Place> PlacesThatFit(const MemoryReader& memory,
                                 const std::vector<TensorSample>& samples) {
  std::vector<Place> places;
  std::vector<Raw> raws;
  for (int32_t impl : kImplCandidates) {
    for (int32_t sizes : kSizesCandidates) {
      if (!Fits(memory, impl, sizes, samples, raws)) continue;
      places.push_back({impl, sizes, raws, Contradictions(samples, raws)});
    }
  }
  return places;
}

// Those that no module contradicts; where there are none, those that most agree with: a layer may
// have been pruned by hand.
void KeepLikely(const std::vector<TensorSample>& samples, std::vector<Place>& places) {
  const auto is_contradicted = [](const Place& place) { return place.contradictions > 0; };
  if (!std::ranges::all_of(places, is_contradicted)) {
    std::erase_if(places, is_contradicted);
    return;
  }
  const auto said = static_cast<size_t>(std::ranges::count_if(
      samples, [](const TensorSample& sample) { return sample.dims.has_value(); }));
  std::erase_if(places, [said](const Place& place) { return 2 * place.contradictions >= said; });
}

std::vector<TensorSample> Thinned(const std::vector<TensorSample>& samples) {
  if (samples.size() <= kMostSamples) return samples;
  std::vector<TensorSample> some;
  for (size_t i = 0; i < kMostSamples; ++i)
    some.push_back(samples[i * samples.size() / kMostSamples]);
  return some;
}

}  // namespace

bool IsTensor(const TypeObject& type) {
  // The C base class: its name up to 1.13, and later.
  return type.IsA("torch._C._TensorBase") || type.IsA("torch._C.TensorBase");
}

absl::StatusOr<TensorLayout> CalibrateTensors(const MemoryReader& memory,
                                              const std::vector<TensorSample>& all) {
  const std::vector<TensorSample> samples = Thinned(all);
  std::vector<Place> places = PlacesThatFit(memory, samples);
  KeepLikely(samples, places);
  if (places.size() > 1) {
    return absl::FailedPreconditionError(
        "more than one place in a tensor could hold its sizes: shapes are not told, since a "
        "guess could be wrong");
  }
  if (places.empty()) {
    return absl::DataLossError(
        StrCat("no place in a tensor holds sizes that fit all of ", samples.size(),
               " tensors: a build of torch that sbump does not know, or a model without any "
               "parameter of more than one element"));
  }
  TensorLayout layout = {.impl = places.front().impl,
                         .sizes = places.front().sizes,
                         .storage = CalibrateStorage(memory, places.front().raws)};
  CalibrateDevice(places.front().raws, layout);
  layout.contradicted = places.front().contradictions > 0;
  return layout;
}

absl::StatusOr<Tensor> ReadTensor(const MemoryReader& memory, const TensorLayout& layout,
                                  RemoteAddr object) {
  SB_ASSIGN_OR_RETURN(Raw raw, ReadRaw(memory, layout.impl, layout.sizes, object));
  Tensor tensor{.dims = std::move(raw.dims), .impl = raw.impl};
  if (raw.data_type < std::size(kDataTypes)) tensor.dtype = kDataTypes[raw.data_type].name;
  if (layout.knows_device) tensor.device = DeviceText(raw.device, layout.device_flag_first);
  if (layout.storage != -1) {
    SB_ASSIGN_OR_RETURN(tensor.storage, memory.ReadPointer(raw.impl + layout.storage));
  }
  return tensor;
}

}  // namespace sbump
