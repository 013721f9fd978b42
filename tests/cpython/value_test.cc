#include "daemon/cpython/value.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/fakes/fake_objects.h"

namespace sbump {
namespace {

class ValueTest : public testing::TestWithParam<int> {
 protected:
  FakeObjects objects{GetParam()};
  Types types{objects.memory(), objects.interpreter()};
  const ValueReader reader = *ValueReader::Make(objects.memory(), objects.interpreter(), types);

  std::string Text(RemoteAddr object) {
    const absl::StatusOr<Value> value = reader.Read(object);
    return value.ok() ? Repr(*value) : std::string(value.status().message());
  }
  // A value of another type.
  RemoteAddr Thing() { return objects.NewInstance(objects.NewClass("app", "Thing"), {}); }
};
INSTANTIATE_TEST_SUITE_P(Versions, ValueTest, testing::ValuesIn(kFakeMinors));

TEST_P(ValueTest, PlainValues) {
  EXPECT_EQ(Text(objects.None()), "None");
  EXPECT_EQ(Text(objects.Bool(true)), "True");
  EXPECT_EQ(Text(objects.Bool(false)), "False");
  EXPECT_EQ(Text(objects.Float(0.1)), "0.1");
  EXPECT_EQ(Text(objects.Str("zeros")), "'zeros'");
}

TEST_P(ValueTest, IntsOfEachLengthAndSign) {
  for (int64_t value : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{1} << 29, int64_t{1} << 30,
                        -(int64_t{1} << 30), int64_t{1} << 60, -(int64_t{1} << 60) - 7,
                        std::numeric_limits<int64_t>::max(), -std::numeric_limits<int64_t>::max()})
    EXPECT_EQ(Text(objects.Int(value)), std::to_string(value));
}

TEST_P(ValueTest, AnIntOfMoreThan63BitsIsNotRead) {
  const RemoteAddr number = objects.Int(std::numeric_limits<int64_t>::max());
  objects.memory().Put(number + 32, uint32_t{8});  // the third digit
  EXPECT_TRUE(absl::IsUnimplemented(reader.Read(number).status()));
  objects.memory().Put(number + kVarSize, int64_t{GetParam() >= 12 ? 4 << 3 : 4});
  EXPECT_TRUE(absl::IsUnimplemented(reader.Read(number).status()));
}

TEST_P(ValueTest, TuplesAndLists) {
  EXPECT_EQ(Text(objects.Tuple({})), "()");
  EXPECT_EQ(Text(objects.Tuple({objects.Int(3)})), "(3,)");
  EXPECT_EQ(Text(objects.Tuple({objects.Int(3), objects.List({objects.None(), objects.Int(5)})})),
            "(3, [None, 5])");
  EXPECT_TRUE(absl::IsUnimplemented(reader.Read(objects.List({Thing()})).status()));
  EXPECT_EQ(Text(Thing()), "a value of type app.Thing");
}

TEST_P(ValueTest, WhatIsTooLargeIsNotRead) {
  std::vector<RemoteAddr> most(ValueReader::kMostItems, objects.None());
  EXPECT_TRUE(reader.Read(objects.List(most)).ok());
  most.push_back(objects.None());
  EXPECT_TRUE(absl::IsResourceExhausted(reader.Read(objects.List(most)).status()));
  // In all, not in each: else a few levels would be millions.
  const RemoteAddr half =
      objects.List(std::vector<RemoteAddr>(ValueReader::kMostItems / 2, objects.None()));
  EXPECT_TRUE(absl::IsResourceExhausted(reader.Read(objects.Tuple({half, half})).status()));
  RemoteAddr deep = objects.None();
  for (int i = 0; i < ValueReader::kDeepest; ++i) deep = objects.Tuple({deep});
  EXPECT_TRUE(reader.Read(deep).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(reader.Read(objects.Tuple({deep})).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(
      reader.Read(objects.Str(std::string(ValueReader::kLongestStr + 1, 'x'))).status()));
}

TEST_P(ValueTest, AListThatHoldsItselfEnds) {
  const RemoteAddr list = objects.List({objects.None()});
  objects.memory().Put(*objects.memory().ReadPointer(list + 24), list);
  EXPECT_TRUE(absl::IsResourceExhausted(reader.Read(list).status()));
}

std::string ReprOf(double value) { return Repr({.kind = Value::Kind::kFloat, .floating = value}); }

// As `python3 -c 'print(repr(...))'` has them.
TEST(ReprTest, FloatsAsPythonWritesThem) {
  EXPECT_EQ(ReprOf(0.1), "0.1");
  EXPECT_EQ(ReprOf(1e-5), "1e-05");
  EXPECT_EQ(ReprOf(0.0001), "0.0001");
  EXPECT_EQ(ReprOf(1e16), "1e+16");
  EXPECT_EQ(ReprOf(1e15), "1000000000000000.0");
  EXPECT_EQ(ReprOf(123456789.5), "123456789.5");
  EXPECT_EQ(ReprOf(1.5e300), "1.5e+300");
  EXPECT_EQ(ReprOf(-0.0), "-0.0");
  EXPECT_EQ(ReprOf(2), "2.0");
  EXPECT_EQ(ReprOf(8.0 / 3), "2.6666666666666665");
  EXPECT_EQ(ReprOf(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(ReprOf(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(ReprOf(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(ReprTest, StrsAsPythonWritesThem) {
  EXPECT_EQ(ReprOfStr("plain"), "'plain'");
  EXPECT_EQ(ReprOfStr("it's"), "\"it's\"");
  EXPECT_EQ(ReprOfStr("\"it's\""), "'\"it\\'s\"'");
  EXPECT_EQ(ReprOfStr("a\\b\n\t\r\x01\x7f"), "'a\\\\b\\n\\t\\r\\x01\\x7f'");
  EXPECT_EQ(ReprOfStr("größe"), "'größe'");
}

}  // namespace
}  // namespace sbump
