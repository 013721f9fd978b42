#include "daemon/cpython/types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_objects.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

class TypesTest : public testing::TestWithParam<int> {
 protected:
  FakeObjects objects{GetParam()};
  FakeMemory& memory = objects.memory();
  Types types{memory, objects.interpreter()};
  const RemoteAddr base = objects.NewClass("app.engine", "Outer.Engine");

  RemoteAddr Text(std::string_view text) {
    const RemoteAddr addr = objects.python().Allocate(text.size() + 1);
    memory.PutBytes(addr, std::as_bytes(std::span(text)));
    return addr;
  }
  void SetMro(RemoteAddr type, const std::vector<RemoteAddr>& mro) {
    memory.Put(type + kTpMro, objects.Tuple(mro));
  }
  void ExpectNone(RemoteAddr type) {
    EXPECT_TRUE(absl::IsDataLoss(Types(memory, objects.interpreter()).Find(type).status()));
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, TypesTest, testing::ValuesIn(kFakeMinors));

TEST_P(TypesTest, NamesAndBasesOfAClass) {
  const RemoteAddr mixin = objects.NewClass("mixins", "Mixin");
  const RemoteAddr derived = objects.NewClass("app", "Derived", {base, mixin});
  const TypeObject& read = **types.Find(derived);
  EXPECT_THAT(read.full_names,
              ElementsAre("app.Derived", "app.engine.Outer.Engine", "mixins.Mixin"));
  EXPECT_THAT(read.mro, ElementsAre(derived, base, mixin));
  EXPECT_EQ(read.full_name(), "app.Derived");
  EXPECT_EQ(read.name, "Derived");
  EXPECT_EQ((*types.Find(base))->name, "Engine");
  EXPECT_EQ((*types.Find(base))->qualname, "Outer.Engine");
  EXPECT_EQ((*types.Find(base))->module, "app.engine");
}

TEST_P(TypesTest, AnInstanceIsOneOfEachBase) {
  const RemoteAddr derived = objects.NewClass("app", "Derived", {base});
  const TypeObject& read = **types.Find(derived);
  EXPECT_TRUE(read.IsA(derived));
  EXPECT_TRUE(read.IsA(base));
  EXPECT_TRUE(read.IsA("app.engine.Outer.Engine"));
  EXPECT_FALSE(read.IsA("Outer.Engine"));
  EXPECT_FALSE((*types.Find(base))->IsA(derived));
  EXPECT_FALSE((*types.Find(base))->IsA("app.Derived"));
}

TEST_P(TypesTest, ABuiltinTypeHasItsNameInOnePiece) {
  const TypeObject& number = **types.Of(objects.Int(1));
  EXPECT_EQ(number.full_name(), "int");
  EXPECT_EQ(number.module, "");
  EXPECT_TRUE(number.Is(kTypeIsInt));
  EXPECT_FALSE(number.Is(kTypeIsStr));
  EXPECT_FALSE(number.cached_keys) << "what lies there is no class's";
  memory.Put(base + kTpFlags, uint64_t{0});
  memory.Put(base + kTpName, Text("collections.OrderedDict"));
  EXPECT_EQ((*types.Find(base))->full_name(), "collections.OrderedDict");
}

TEST_P(TypesTest, WhatDecidesHowInstancesAreRead) {
  const RemoteAddr instance = objects.NewInstance(base, {}, AttributePlace::kSplitDict);
  memory.Put(base + kTpCall, RemoteAddr{0x40'2000});
  memory.Put(base + kTpBasicsize, int64_t{56});
  memory.Put(base + kTpDictoffset, int64_t{-8});
  const TypeObject& read = **types.Of(instance);
  EXPECT_EQ(read.addr, base);
  EXPECT_EQ(read.call, RemoteAddr{0x40'2000});
  EXPECT_EQ(read.basicsize, 56);
  EXPECT_EQ(read.dictoffset, -8);
  EXPECT_EQ(read.Is(kTypeManagedDict), GetParam() >= 11);
  EXPECT_EQ(read.cached_keys, *memory.ReadPointer(base + objects.layout().heap_type.cached_keys));
  EXPECT_TRUE(read.cached_keys.Plausible());
}

TEST_P(TypesTest, AClassWhoseModuleIsNoStrHasNone) {
  memory.Put(base + kTpDict, objects.Dict({{"__module__", objects.Int(3)}}));
  EXPECT_EQ((*types.Find(base))->full_name(), "Outer.Engine");
  const RemoteAddr without = objects.NewClass("app", "Without");
  memory.Put(without + kTpDict, objects.Dict({}));
  EXPECT_EQ((*types.Find(without))->full_name(), "Without");
  const RemoteAddr no_dict = objects.NewClass("app", "NoDict");
  memory.Put(no_dict + kTpDict, RemoteAddr{});
  EXPECT_EQ((*types.Find(no_dict))->full_name(), "NoDict");
}

TEST_P(TypesTest, WhatIsNoTypeIsNone) {
  const RemoteAddr object = objects.NewInstance(base, {});
  EXPECT_TRUE(absl::IsDataLoss(types.Find(object).status()));
  EXPECT_TRUE(absl::IsDataLoss(types.Find(RemoteAddr{16}).status()));
  EXPECT_TRUE(absl::IsDataLoss(types.Find(RemoteAddr{0x7000'0000'0000}).status()));
  EXPECT_TRUE(absl::IsDataLoss(types.Of(RemoteAddr{}).status()));
  EXPECT_TRUE(absl::IsDataLoss(types.Of(RemoteAddr{uint64_t{1} << 60}).status()));
}

TEST_P(TypesTest, ItsOrderOfResolutionMustBeItsOwn) {
  SetMro(base, {});
  ExpectNone(base);
  SetMro(base, {objects.NewClass("app", "Other"), base});
  ExpectNone(base);
  SetMro(base, {base, objects.NewInstance(base, {})});
  ExpectNone(base);
  memory.Put(base + kTpMro, RemoteAddr{});
  ExpectNone(base);
  std::vector<RemoteAddr> longest(Types::kLongestMro, base);
  SetMro(base, longest);
  EXPECT_TRUE(Types(memory, objects.interpreter()).Find(base).ok());
  longest.push_back(base);
  SetMro(base, longest);
  ExpectNone(base);
}

TEST_P(TypesTest, ANameWithoutEnd) {
  memory.Put(base + kTpName, Text(std::string(255, 'x')));
  EXPECT_THAT((*Types(memory, objects.interpreter()).Find(base))->name, StartsWith("xxx"));
  memory.Put(base + kTpName, Text(std::string(Types::kLongestName, 'x')));
  ExpectNone(base);
  memory.Put(base + kTpName, RemoteAddr{});
  ExpectNone(base);
}

// Few of the process's bytes can be many of ours: each class has the names of all its bases.
TEST_P(TypesTest, NoMoreNamesThanFit) {
  const std::string name(Types::kLongestName - 1, 'x');
  const std::vector<RemoteAddr> bases(Types::kLongestMro - 1, objects.NewClass("app", name));
  constexpr size_t kMost = Types::kMostBytes / (Types::kLongestMro * Types::kLongestName);
  Types types(memory, objects.interpreter());
  for (size_t i = 0; i < kMost / 2; ++i)
    ASSERT_TRUE(types.Find(objects.NewClass("app", "Derived", bases)).ok());
  EXPECT_TRUE(types.CheckRoom().ok());
  for (size_t i = 0; i < kMost; ++i) (void)types.Find(objects.NewClass("app", "Derived", bases));
  EXPECT_FALSE(types.CheckRoom().ok());
  EXPECT_TRUE(absl::IsResourceExhausted(types.Find(base).status()));
}

TEST_P(TypesTest, ANameThatIsTooLongIsNone) {
  EXPECT_TRUE(Types(memory, objects.interpreter())
                  .Find(objects.NewClass("app", std::string(Types::kLongestName - 1, 'x')))
                  .ok());
  ExpectNone(objects.NewClass("app", std::string(Types::kLongestName + 1, 'x')));
}

TEST_P(TypesTest, AClassWithoutAQualnameIsNone) {
  memory.Put(base + objects.layout().heap_type.qualname, RemoteAddr{});
  ExpectNone(base);
}

TEST_P(TypesTest, EachIsReadOnceAndStaysWhereItIs) {
  const TypeObject* const first = *types.Find(base);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(types.Find(objects.NewClass("app", "Other")).ok());
  const uint64_t reads = memory.reads();
  EXPECT_EQ(*types.Find(base), first);
  EXPECT_EQ(memory.reads(), reads);
  EXPECT_EQ(first->full_name(), "app.engine.Outer.Engine");
}

TEST_P(TypesTest, WhatWasNoneStaysNone) {
  memory.Put(base + kTpMro, RemoteAddr{});
  EXPECT_TRUE(absl::IsDataLoss(types.Find(base).status()));
  SetMro(base, {base});
  EXPECT_TRUE(absl::IsDataLoss(types.Find(base).status()));
  EXPECT_TRUE(Types(memory, objects.interpreter()).Find(base).ok()) << "for one look alone";
}

}  // namespace
}  // namespace sbump
