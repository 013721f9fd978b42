#include "daemon/cpython/attributes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_objects.h"

namespace sbump {
namespace {

using testing::HasSubstr;

class AttributesTest : public testing::TestWithParam<int> {
 protected:
  FakeObjects objects{GetParam()};
  Types types{objects.memory(), objects.interpreter()};
  AttributeReader reader{objects.memory(), objects.interpreter()};
  const RemoteAddr type = objects.NewClass("app.engine", "Outer.Engine");

  absl::StatusOr<std::vector<Attribute>> Read(RemoteAddr object, size_t most = 100) {
    return reader.Read(**types.Find(type), object, most);
  }
  static std::string NamesOf(const absl::StatusOr<std::vector<Attribute>>& attributes) {
    if (!attributes.ok()) return std::string(attributes.status().message());
    std::string names;
    for (const Attribute& attribute : *attributes) names += attribute.name + " ";
    return names;
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, AttributesTest, testing::ValuesIn(kFakeMinors));

TEST_P(AttributesTest, EachPlaceOfAnInstancesAttributes) {
  const RemoteAddr one = objects.Int(1), two = objects.Int(2);
  for (AttributePlace place :
       {AttributePlace::kDict, AttributePlace::kSplitDict, AttributePlace::kValues}) {
    const RemoteAddr object = objects.NewInstance(type, {{"a", one}, {"b", two}}, place);
    Types fresh(objects.memory(), objects.interpreter());  // the class's shared keys are new
    const auto read = reader.Read(**fresh.Find(type), object, 100);
    ASSERT_EQ(NamesOf(read), "a b ") << static_cast<int>(place);
    EXPECT_EQ((*read)[0].value, one);
    EXPECT_EQ((*read)[1].value, two);
  }
}

TEST_P(AttributesTest, AnAttributeThatWasDeletedIsLeftOut) {
  for (AttributePlace place :
       {AttributePlace::kDict, AttributePlace::kSplitDict, AttributePlace::kValues}) {
    const RemoteAddr object =
        objects.NewInstance(type, {{"a", RemoteAddr{}}, {"b", objects.None()}}, place);
    const auto read =
        reader.Read(**Types(objects.memory(), objects.interpreter()).Find(type), object, 100);
    EXPECT_EQ(NamesOf(read), "b ") << static_cast<int>(place);
  }
}

TEST_P(AttributesTest, AnObjectThatWasFreedHasNone) {
  const RemoteAddr object = objects.NewInstance(type, {{"a", objects.None()}});
  objects.Free(object);
  EXPECT_TRUE(absl::IsDataLoss(Read(object).status()));
  EXPECT_THAT(NamesOf(Read(object)), HasSubstr("is gone"));
}

TEST_P(AttributesTest, AnObjectOfAnotherClassIsRefused) {
  const RemoteAddr other = objects.NewInstance(objects.NewClass("app", "Other"), {});
  EXPECT_THAT(NamesOf(Read(other)), HasSubstr("is no app.engine.Outer.Engine"));
}

TEST_P(AttributesTest, TooManyAreRefused) {
  const RemoteAddr object =
      objects.NewInstance(type, {{"a", objects.None()}, {"b", objects.None()}});
  EXPECT_EQ(NamesOf(Read(object, 2)), "a b ");
  EXPECT_TRUE(absl::IsResourceExhausted(Read(object, 1).status()));
}

TEST_P(AttributesTest, ADictThatIsBeingChangedIsRefused) {
  const RemoteAddr dict = objects.Dict({{"a", objects.None()}});
  EXPECT_EQ(NamesOf(reader.ReadDict(dict, 10)), "a ");
  objects.memory().Put(dict + kDictUsed, int64_t{2});
  EXPECT_TRUE(absl::IsDataLoss(reader.ReadDict(dict, 10).status()));
}

// 3.11 puts a null there, 3.12 its dict, and 3.13 leaves the values to the dict.
TEST_P(AttributesTest, ADictThatWasMadeLaterCounts) {
  const RemoteAddr object =
      objects.NewInstance(type, {{"old", objects.None()}}, AttributePlace::kValues);
  const auto& managed = objects.layout().managed_dict;
  if (managed.values != kAbsent) objects.memory().Put(object + managed.values, RemoteAddr{});
  const int32_t place = managed.dict == kAbsent ? 16 : managed.dict;
  objects.memory().Put(object + place, objects.Dict({{"new", objects.None()}}));
  EXPECT_EQ(NamesOf(Read(object)), "new ");
}

TEST_P(AttributesTest, ValuesThatAreNoLongerValidAreNone) {
  const RemoteAddr object =
      objects.NewInstance(type, {{"a", objects.None()}}, AttributePlace::kValues);
  EXPECT_EQ(NamesOf(Read(object)), "a ");
  if (!objects.layout().managed_dict.inlined) return;
  objects.memory().Put(object + (*types.Find(type))->basicsize + 3, uint8_t{0});
  EXPECT_EQ(NamesOf(Read(object)), "");
}

TEST_P(AttributesTest, AnInstanceThatHasNoneYet) {
  const RemoteAddr object = objects.NewInstance(type, {{"a", objects.None()}});
  const auto& managed = objects.layout().managed_dict;
  objects.memory().Put(object + (managed.dict == kAbsent ? 16 : managed.dict), RemoteAddr{});
  EXPECT_TRUE(Read(object).ok());
  EXPECT_EQ(NamesOf(Read(object)), "");
}

TEST_P(AttributesTest, AClassWhoseInstancesHaveNoDict) {
  const RemoteAddr object = objects.NewInstance(type, {{"a", objects.None()}});
  objects.memory().Put(type + kTpFlags, kTypeHeapType);
  for (const int64_t dictoffset : {int64_t{0}, int64_t{-8}, int64_t{1} << 40}) {
    objects.memory().Put(type + kTpDictoffset, dictoffset);
    const auto read =
        reader.Read(**Types(objects.memory(), objects.interpreter()).Find(type), object, 100);
    if (dictoffset == 0) {
      EXPECT_EQ(NamesOf(read), "");
      EXPECT_TRUE(read.ok());
    } else {
      EXPECT_TRUE(absl::IsUnimplemented(read.status())) << dictoffset;
    }
  }
}

TEST_P(AttributesTest, ADictAtAnOffsetOfItsOwn) {
  const RemoteAddr object = objects.NewInstance(type, {});
  objects.memory().Put(type + kTpFlags, kTypeHeapType);
  objects.memory().Put(type + kTpDictoffset, int64_t{24});
  objects.memory().Put(object + 24, objects.Dict({{"a", objects.None()}}));
  EXPECT_EQ(NamesOf(Read(object)), "a ");
}

TEST_P(AttributesTest, HostileSizesOfObjectsWithValues) {
  if (!objects.layout().managed_dict.inlined) return;
  const RemoteAddr object = objects.NewInstance(type, {}, AttributePlace::kValues);
  for (const int64_t size : {int64_t{0}, int64_t{-1}, (int64_t{1} << 20) + 1}) {
    objects.memory().Put(type + kTpBasicsize, size);
    const auto read =
        reader.Read(**Types(objects.memory(), objects.interpreter()).Find(type), object, 100);
    EXPECT_TRUE(absl::IsDataLoss(read.status())) << size;
  }
}

TEST_P(AttributesTest, NamesThatAreNoStrAreLeftOut) {
  const RemoteAddr dict = objects.python().NewDict(
      {{objects.Tuple({}), objects.None()}, {objects.Str("a"), objects.None()}});
  EXPECT_EQ(NamesOf(reader.ReadDict(dict, 10)), "a ");
}

}  // namespace
}  // namespace sbump
