#include "daemon/cpython/attributes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_objects.h"

namespace sbump {
namespace {

using testing::ElementsAre;
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
  const RemoteAddr object = objects.NewInstance(type, {{"a", RemoteAddr{}}, {"b", objects.None()}});
  EXPECT_EQ(NamesOf(Read(object)), "b ");
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

TEST_P(AttributesTest, TypesKnowTheirNamesAndBases) {
  const RemoteAddr derived = objects.NewClass("app", "Derived", {type});
  const TypeObject& read = **types.Find(derived);
  EXPECT_THAT(read.full_names, ElementsAre("app.Derived", "app.engine.Outer.Engine"));
  EXPECT_EQ(read.name, "Derived");
  EXPECT_EQ((*types.Find(type))->name, "Engine");
  EXPECT_EQ((*types.Find(type))->qualname, "Outer.Engine");
  EXPECT_TRUE(read.IsA(type));
  EXPECT_TRUE(read.IsA("app.engine.Outer.Engine"));
  EXPECT_FALSE((*types.Find(type))->IsA(derived));
}

TEST_P(AttributesTest, WhatIsNoTypeIsNone) {
  const RemoteAddr object = objects.NewInstance(type, {});
  EXPECT_TRUE(absl::IsDataLoss(types.Find(object).status()));
  EXPECT_TRUE(absl::IsDataLoss(types.Find(RemoteAddr{16}).status()));
  EXPECT_TRUE(absl::IsDataLoss(types.Of(RemoteAddr{}).status()));
}

}  // namespace
}  // namespace sbump
