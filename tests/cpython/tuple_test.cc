#include "daemon/cpython/tuple.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/fakes/fake_objects.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TupleTest : public testing::TestWithParam<int> {
 protected:
  FakeObjects objects{GetParam()};
  FakeMemory& memory = objects.memory();
  const RemoteAddr one = objects.Int(1), two = objects.Int(2);

  absl::StatusOr<std::vector<RemoteAddr>> Tuple(RemoteAddr tuple, size_t most = 10) {
    return ReadTuple(memory, objects.layout(), tuple, most);
  }
  absl::StatusOr<std::vector<RemoteAddr>> List(RemoteAddr list, size_t most = 10) {
    return ReadList(memory, objects.layout(), list, most);
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, TupleTest, testing::ValuesIn(kFakeMinors));

TEST_P(TupleTest, ItemsInTheirOrder) {
  EXPECT_THAT(*Tuple(objects.Tuple({two, one, two})), ElementsAre(two, one, two));
  EXPECT_THAT(*List(objects.List({two, one, two})), ElementsAre(two, one, two));
}

TEST_P(TupleTest, OfAnEmptyOneNoItemIsRead) {
  const RemoteAddr tuple = objects.Tuple({}), list = objects.List({});
  memory.Put(list + 24, RemoteAddr{});  // as list() has it
  const uint64_t before = memory.reads();
  EXPECT_THAT(*Tuple(tuple, 0), IsEmpty());
  EXPECT_THAT(*List(list, 0), IsEmpty());
  EXPECT_EQ(memory.reads() - before, 3u) << "two sizes, and where the list has its items";
}

TEST_P(TupleTest, AsManyAsAreAllowed) {
  EXPECT_TRUE(Tuple(objects.Tuple({one, two}), 2).ok());
  EXPECT_TRUE(List(objects.List({one, two}), 2).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Tuple(objects.Tuple({one, two}), 1).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(List(objects.List({one, two}), 1).status()));
}

TEST_P(TupleTest, HostileSizes) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const RemoteAddr tuple = objects.Tuple({one}), list = objects.List({one});
  for (const RemoteAddr sequence : {tuple, list}) {
    const auto read = [&](size_t most) {
      return (sequence == tuple ? Tuple(tuple, most) : List(list, most)).status();
    };
    for (const int64_t size : {int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
      memory.Put(sequence + kVarSize, size);
      EXPECT_TRUE(absl::IsDataLoss(read(10))) << size;
    }
    memory.Put(sequence + kVarSize, kMost);
    EXPECT_TRUE(absl::IsResourceExhausted(read(10)));
    memory.Put(sequence + kVarSize, int64_t{100'000});  // more than is mapped
    EXPECT_TRUE(absl::IsDataLoss(read(100'000)));
  }
}

TEST_P(TupleTest, WhatIsNowhere) {
  for (const uint64_t addr : {uint64_t{0}, uint64_t{16}, uint64_t{1} << 60}) {
    EXPECT_TRUE(absl::IsDataLoss(Tuple(RemoteAddr{addr}).status())) << addr;
    EXPECT_TRUE(absl::IsDataLoss(List(RemoteAddr{addr}).status())) << addr;
  }
  const RemoteAddr list = objects.List({one});
  memory.Put(list + 24, RemoteAddr{0x7000'0000'0000});
  EXPECT_FALSE(List(list).ok());
}

}  // namespace
}  // namespace sbump
