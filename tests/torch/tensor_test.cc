#include "daemon/torch/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/torch/fake_torch.h"

namespace sbump {
namespace {

using testing::ElementsAre;

class PlacesTest : public testing::TestWithParam<FakeTensorPlaces> {
 protected:
  FakeTorch torch{13, GetParam()};

  absl::StatusOr<TensorLayout> Calibrate(const std::vector<TensorSample>& samples) {
    return CalibrateTensors(torch.memory(), samples);
  }
};
INSTANTIATE_TEST_SUITE_P(Torch, PlacesTest, testing::Values(kTorch113, kTorch26, kTorch214));

TEST_P(PlacesTest, EachIsFound) {
  const RemoteAddr weight = torch.NewTensor({.dims = {7, 5}});
  const RemoteAddr bias = torch.NewTensor({.dims = {7}});
  const auto layout = Calibrate({{weight, std::nullopt}, {bias, std::nullopt}});
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(layout->impl, GetParam().impl);
  EXPECT_EQ(layout->sizes, GetParam().sizes);
  EXPECT_EQ(layout->storage, GetParam().storage);
  const Tensor tensor = *ReadTensor(torch.memory(), *layout, weight);
  EXPECT_THAT(tensor.dims, ElementsAre(7, 5));
  EXPECT_EQ(tensor.dtype, "float32");
  EXPECT_EQ(tensor.device, "cpu");
  EXPECT_EQ(tensor.impl, torch.ImplOf(weight));
  EXPECT_EQ(tensor.storage, torch.StorageOf(weight));
}

TEST_P(PlacesTest, ManyDimsAndNone) {
  const RemoteAddr flat = torch.NewTensor({.dims = {}});
  const RemoteAddr deep = torch.NewTensor({.dims = {2, 1, 3, 1, 2, 1, 4}});
  const auto layout = Calibrate({{flat, std::nullopt}, {deep, std::nullopt}});
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_THAT(ReadTensor(torch.memory(), *layout, deep)->dims, ElementsAre(2, 1, 3, 1, 2, 1, 4));
  EXPECT_THAT(ReadTensor(torch.memory(), *layout, flat)->dims, ElementsAre());
}

TEST_P(PlacesTest, DevicesAndTypes) {
  const RemoteAddr cpu = torch.NewTensor({.dims = {3}});
  const RemoteAddr gpu =
      torch.NewTensor({.dims = {3}, .dtype = 15, .device = 1, .device_index = 0});
  const RemoteAddr odd = torch.NewTensor({.dims = {3}, .dtype = 999});
  const RemoteAddr packed = torch.NewTensor({.dims = {3}, .dtype = 45});
  const auto layout = Calibrate({{cpu, std::nullopt}, {gpu, std::nullopt}});
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(ReadTensor(torch.memory(), *layout, gpu)->device, "cuda:0");
  EXPECT_EQ(ReadTensor(torch.memory(), *layout, gpu)->dtype, "bfloat16");
  EXPECT_EQ(ReadTensor(torch.memory(), *layout, odd)->dtype, "");
  EXPECT_EQ(ReadTensor(torch.memory(), *layout, packed)->dtype, "float4_e2m1fn_x2");
}

TEST_P(PlacesTest, AViewHasTheStorageOfItsBase) {
  const RemoteAddr base = torch.NewTensor({.dims = {8, 8}});
  const RemoteAddr view = torch.NewTensor({.dims = {4}, .storage = torch.StorageOf(base)});
  const auto layout = Calibrate({{base, std::nullopt}, {view, std::nullopt}});
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(ReadTensor(torch.memory(), *layout, view)->storage, torch.StorageOf(base));
}

class TensorTest : public testing::Test {
 protected:
  FakeTorch torch{13};
  FakeMemory& memory = torch.memory();

  absl::Status StatusOf(const std::vector<TensorSample>& samples) {
    return CalibrateTensors(memory, samples).status();
  }
};

TEST_F(TensorTest, ScalarsAloneTellNoPlaceFromAnother) {
  const RemoteAddr scalar = torch.NewTensor({.dims = {}});
  EXPECT_TRUE(absl::IsDataLoss(StatusOf({{scalar, std::nullopt}})));
}

TEST_F(TensorTest, TwoPlacesThatFitAreNoAnswer) {
  const RemoteAddr tensor = torch.NewTensor({.dims = {7, 5}});
  const RemoteAddr twin = torch.NewTensor({.dims = {7, 5}});
  memory.Put(tensor + 16, torch.ImplOf(twin));
  EXPECT_TRUE(absl::IsFailedPrecondition(StatusOf({{tensor, std::nullopt}})));
  // What a module says of its weight decides.
  const RemoteAddr other = torch.NewTensor({.dims = {5, 7}});
  memory.Put(tensor + 16, torch.ImplOf(other));
  EXPECT_TRUE(StatusOf({{tensor, std::vector<int64_t>{7, 5}}}).ok());
}

TEST_F(TensorTest, OneParameterThatFitsNowhereSpoilsAll) {
  const RemoteAddr good = torch.NewTensor({.dims = {7, 5}});
  const RemoteAddr bad = torch.NewTensor({.dims = {7, 5}});
  memory.Put(torch.ImplOf(bad) + kTorch113.sizes + 96, int64_t{36});
  EXPECT_TRUE(absl::IsDataLoss(StatusOf({{good, std::nullopt}, {bad, std::nullopt}})));
  EXPECT_TRUE(absl::IsDataLoss(StatusOf({{good, std::vector<int64_t>{5, 7}}})));
}

TEST_F(TensorTest, AStorageThatIsTooSmallIsNone) {
  const RemoteAddr tensor = torch.NewTensor({.dims = {7, 5}});
  for (int64_t bytes : {int64_t{139}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    memory.Put(torch.StorageOf(tensor) + kTorch113.storage + 32, bytes);
    const auto layout = CalibrateTensors(memory, {{tensor, std::nullopt}});
    ASSERT_TRUE(layout.ok()) << layout.status();
    EXPECT_EQ(layout->storage, -1) << bytes;
    EXPECT_FALSE(ReadTensor(memory, *layout, tensor)->storage);
  }
}

TEST_F(TensorTest, SizesThatLieAreRefused) {
  const RemoteAddr good = torch.NewTensor({.dims = {7, 5}});
  const TensorLayout layout = *CalibrateTensors(memory, {{good, std::nullopt}});
  const RemoteAddr sizes = torch.ImplOf(good) + layout.sizes;
  for (int64_t count : {int64_t{-1}, int64_t{65}, int64_t{1} << 40}) {
    memory.Put(sizes, count);
    EXPECT_TRUE(absl::IsDataLoss(ReadTensor(memory, layout, good).status())) << count;
  }
  memory.Put(sizes, int64_t{2});
  for (int64_t dim : {int64_t{-7}, int64_t{1} << 62}) {  // 2^62 * 5 is no number
    memory.Put(sizes + 8, dim);
    EXPECT_TRUE(absl::IsDataLoss(ReadTensor(memory, layout, good).status())) << dim;
  }
  memory.Put(good + layout.impl, RemoteAddr{8});
  EXPECT_TRUE(absl::IsDataLoss(ReadTensor(memory, layout, good).status()));
}

TEST_F(TensorTest, AnEmptyTensorLiesInAnyStorage) {
  const RemoteAddr empty = torch.NewTensor({.dims = {0, 5}});
  const RemoteAddr weight = torch.NewTensor({.dims = {7, 5}});
  EXPECT_TRUE(absl::IsDataLoss(StatusOf({{empty, std::nullopt}}))) << "it tells no place";
  const auto layout = CalibrateTensors(memory, {{empty, std::nullopt}, {weight, std::nullopt}});
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(layout->storage, kTorch113.storage);
  EXPECT_THAT(ReadTensor(memory, *layout, empty)->dims, ElementsAre(0, 5));
}

TEST_F(TensorTest, AViewEndsWithinItsStorage) {
  const RemoteAddr base = torch.NewTensor({.dims = {8, 8}});
  const RemoteAddr view = torch.NewTensor({.dims = {4}, .storage = torch.StorageOf(base)});
  const RemoteAddr offset = torch.ImplOf(view) + kTorch113.sizes + 88;
  memory.Put(offset, int64_t{60});  // the last four elements
  const std::vector<TensorSample> both = {{base, std::nullopt}, {view, std::nullopt}};
  EXPECT_EQ(CalibrateTensors(memory, both)->storage, kTorch113.storage);
  memory.Put(offset, int64_t{61});
  EXPECT_EQ(CalibrateTensors(memory, both)->storage, -1);
  memory.Put(offset, int64_t{-1});
  EXPECT_TRUE(absl::IsDataLoss(StatusOf(both)));
}

TEST_F(TensorTest, NoStorageOfAnElementTypeThatIsNotKnown) {
  const RemoteAddr tensor = torch.NewTensor({.dims = {7, 5}, .dtype = 999});
  EXPECT_EQ(CalibrateTensors(memory, {{tensor, std::nullopt}})->storage, -1);
}

// What a hostile tensor says must not make a number that is none: run with --config=asan.
TEST_F(TensorTest, StridesThatEndBehindAllMemory) {
  const RemoteAddr tensor = torch.NewTensor({.dims = {2}, .dtype = 0});
  const RemoteAddr sizes = torch.ImplOf(tensor) + kTorch113.sizes;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (int64_t stride : {kMost, kMost - 1, kMost / 2, int64_t{-1}}) {
    memory.Put(sizes + 48, stride);
    const auto layout = CalibrateTensors(memory, {{tensor, std::nullopt}});
    ASSERT_TRUE(layout.ok()) << layout.status();
    EXPECT_EQ(layout->storage, -1) << stride;
  }
  memory.Put(sizes + 48, int64_t{0});
  memory.Put(sizes + 88, kMost);
  EXPECT_EQ(CalibrateTensors(memory, {{tensor, std::nullopt}})->storage, -1);
}

TEST_F(TensorTest, OfManyParametersSomeAreLookedAt) {
  std::vector<TensorSample> samples(kMostSamples * 3, {torch.NewTensor({.dims = {7, 5}}), {}});
  const uint64_t before = memory.reads();
  ASSERT_TRUE(CalibrateTensors(memory, samples).ok());
  const uint64_t reads = memory.reads() - before;
  samples.resize(kMostSamples);
  ASSERT_TRUE(CalibrateTensors(memory, samples).ok());
  EXPECT_EQ(memory.reads() - before, 2 * reads);
}

// A layer that was pruned by hand says the dims that it had.
TEST_F(TensorTest, OneThatIsContradictedByFewIsTaken) {
  const RemoteAddr whole = torch.NewTensor({.dims = {7, 5}}),
                   pruned = torch.NewTensor({.dims = {4, 5}});
  const TensorSample says = {whole, std::vector<int64_t>{7, 5}};
  const TensorSample lies = {pruned, std::vector<int64_t>{7, 5}};
  EXPECT_FALSE(CalibrateTensors(memory, {says, says})->contradicted);
  const auto layout = CalibrateTensors(memory, {says, lies, says});
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_TRUE(layout->contradicted);
  EXPECT_EQ(layout->sizes, kTorch113.sizes);
  EXPECT_TRUE(absl::IsDataLoss(StatusOf({says, lies}))) << "no more agree than not";
}

TEST_F(TensorTest, NoSampleIsNoAnswer) { EXPECT_TRUE(absl::IsDataLoss(StatusOf({}))); }

TEST_F(TensorTest, PointersThatLeadNowhere) {
  const RemoteAddr tensor = torch.NewTensor({.dims = {7, 5}});
  const RemoteAddr deep = torch.NewTensor({.dims = {2, 1, 3, 1, 2, 1}});
  const TensorLayout layout = *CalibrateTensors(memory, {{tensor, std::nullopt}});
  memory.Put(tensor + layout.impl, RemoteAddr{0x7000'0000'0000});
  EXPECT_FALSE(ReadTensor(memory, layout, tensor).ok());
  EXPECT_TRUE(ReadTensor(memory, layout, deep).ok());
  const RemoteAddr first = torch.ImplOf(deep) + layout.sizes + 8;
  for (const RemoteAddr dims : {RemoteAddr{}, RemoteAddr{16}, RemoteAddr{uint64_t{1} << 60}}) {
    memory.Put(first, dims);
    EXPECT_EQ(ReadTensor(memory, layout, deep).status().message(), "a tensor without sizes");
  }
  memory.Put(first, RemoteAddr{0x7000'0000'0000});
  EXPECT_TRUE(absl::IsDataLoss(ReadTensor(memory, layout, deep).status()));
}

// Both orders of the three bytes are a device where all are on cuda:0 and the flag is the last:
// 01 00 01 is cpu:1 with the flag first.
TEST(DeviceTest, TheOneGpuOfAModelIsToldFromTheProcessor) {
  FakeTorch torch(13, kTorch214);
  const RemoteAddr gpu = torch.NewTensor({.dims = {3}, .device = 1, .device_index = 0});
  const auto layout = CalibrateTensors(torch.memory(), {{gpu, std::nullopt}});
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(ReadTensor(torch.memory(), *layout, gpu)->device, "cuda:0") << "no cpu:1";
  const RemoteAddr second = torch.NewTensor({.dims = {3}, .device = 1, .device_index = 1});
  const auto same = CalibrateTensors(torch.memory(), {{second, std::nullopt}});
  EXPECT_EQ(ReadTensor(torch.memory(), *same, second)->device, "cuda:1") << "in both orders";
}

TEST(IsTensorTest, ByTheNameOfItsBaseInEachVersion) {
  EXPECT_TRUE(IsTensor({.full_names = {"torch.Tensor", "torch._C._TensorBase"}}));
  EXPECT_TRUE(IsTensor({.full_names = {"torch.Tensor", "torch._C.TensorBase"}}));
  EXPECT_TRUE(IsTensor({.full_names = {"torch.nn.parameter.Parameter", "torch.Tensor",
                                       "torch._C.TensorBase", "object"}}));
  EXPECT_FALSE(IsTensor({.full_names = {"app.Tensor", "object"}}));
}

}  // namespace
}  // namespace sbump
