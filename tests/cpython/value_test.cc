#include "daemon/cpython/value.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/cpython/fake_elf.h"
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

TEST_P(ValueTest, IntsOfHostileLengths) {
  const RemoteAddr number = objects.Int(1);
  for (int64_t digits : {int64_t{4}, int64_t{-4}, int64_t{1} << 40}) {
    objects.memory().Put(number + kVarSize, GetParam() >= 12 ? digits << 3 : digits);
    EXPECT_TRUE(absl::IsUnimplemented(reader.Read(number).status())) << digits;
  }
  for (int64_t word : {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    objects.memory().Put(number + kVarSize, word);
    EXPECT_TRUE(absl::IsUnimplemented(reader.Read(number).status())) << word;
  }
  EXPECT_TRUE(absl::IsUnimplemented(
      reader.Read(objects.Int(std::numeric_limits<int64_t>::min())).status()));
}

TEST_P(ValueTest, OfASubclassThePlainValue) {
  const auto as = [&](RemoteAddr object, std::string_view name, uint64_t flag) {
    const RemoteAddr builtin = *objects.memory().ReadPointer(object + kObType);
    objects.memory().Put(object + kObType, objects.NewClass("app", name, {builtin}, flag));
    return object;
  };
  EXPECT_EQ(Text(as(objects.Int(3), "Mode", kTypeIsInt)), "3");
  EXPECT_EQ(Text(as(objects.Float(0.5), "Rate", 0)), "0.5");
  EXPECT_EQ(Text(as(objects.Str("x"), "Name", kTypeIsStr)), "'x'");
  EXPECT_EQ(Text(as(objects.Tuple({objects.Int(3)}), "Size", kTypeIsTuple)), "(3,)");
}

// As vLLM's tracing prints what a layer was made with from another tensor's shape.
TEST_P(ValueTest, OfTorchsSizeItsName) {
  const RemoteAddr size = objects.Tuple({objects.Int(7), objects.Int(7)});
  const RemoteAddr tuple = *objects.memory().ReadPointer(size + kObType);
  objects.memory().Put(size + kObType, objects.NewClass("torch", "Size", {tuple}, kTypeIsTuple));
  EXPECT_EQ(Text(size), "torch.Size([7, 7])");
}

TEST_P(ValueTest, WhatIsBrokenIsNoValue) {
  const RemoteAddr list = objects.List({objects.Int(1)});
  objects.memory().Put(list + kVarSize, int64_t{-1});
  EXPECT_TRUE(absl::IsDataLoss(reader.Read(list).status()));
  const RemoteAddr text = objects.Str("x");
  objects.memory().Put(text + kUnicodeState, uint32_t{0});
  EXPECT_TRUE(absl::IsDataLoss(reader.Read(text).status()));
  EXPECT_TRUE(absl::IsDataLoss(reader.Read(RemoteAddr{}).status()));
  EXPECT_TRUE(absl::IsDataLoss(reader.Read(objects.Tuple({RemoteAddr{}})).status()));
}

TEST_P(ValueTest, AStrIsMeasuredInBytes) {
  const auto euros = [&](size_t count) {
    const RemoteAddr str = objects.python().NewStr(std::u32string(count, U'\u20ac'));
    objects.memory().Put(str + kObType, *objects.memory().ReadPointer(objects.Str("") + kObType));
    return str;
  };
  EXPECT_EQ(reader.Read(euros(2))->text, "\xE2\x82\xAC\xE2\x82\xAC");
  EXPECT_TRUE(reader.Read(euros(ValueReader::kLongestStr / 3)).ok());
  EXPECT_TRUE(
      absl::IsResourceExhausted(reader.Read(euros(ValueReader::kLongestStr / 3 + 1)).status()));
}

class SymbolsTest : public testing::Test {
 protected:
  FakeObjects objects{13};
  Types types{objects.memory(), objects.interpreter()};

  absl::StatusOr<ValueReader> Make(const FakeElf& elf, uint64_t load_bias) {
    auto file = std::make_shared<InterpreterFile>(*objects.interpreter().file);
    file->elf = std::make_shared<const ElfFile>(*elf.Open());
    interpreter_ = objects.interpreter();
    interpreter_.file = file;
    interpreter_.load_bias = load_bias;
    return ValueReader::Make(objects.memory(), interpreter_, types);
  }
  uint64_t TypeOf(RemoteAddr object) {
    return objects.memory().ReadPointer(object + kObType)->value;
  }

 private:
  Interpreter interpreter_;
};

TEST_F(SymbolsTest, AreLoadedAtABias) {
  constexpr uint64_t kBias = 0x100'0000;
  FakeElf elf;
  elf.AddSymbol("PyFloat_Type", TypeOf(objects.Float(1)) - kBias);
  elf.AddSymbol("PyBool_Type", TypeOf(objects.Bool(true)) - kBias);
  elf.AddSymbol("_Py_NoneStruct", objects.None().value - kBias);
  const auto reader = Make(elf, kBias);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE(reader->IsNone(objects.None()));
  EXPECT_EQ(Repr(*reader->Read(objects.Tuple({objects.Bool(true), objects.Float(2)}))),
            "(True, 2.0)");
}

TEST_F(SymbolsTest, AFileWithoutOneIsRefused) {
  FakeElf elf;
  elf.AddSymbol("PyFloat_Type", 0x50'0000);
  elf.AddSymbol("PyBool_Type", 0x50'1000);
  const absl::Status status = Make(elf, 0).status();
  EXPECT_TRUE(absl::IsUnimplemented(status));
  EXPECT_NE(status.message().find("_Py_NoneStruct"), absl::string_view::npos);
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
  EXPECT_EQ(ReprOf(-2.5e-7), "-2.5e-07");
  EXPECT_EQ(ReprOf(9999999999999998.0), "9999999999999998.0");
  EXPECT_EQ(ReprOf(5e-324), "5e-324");
  EXPECT_EQ(ReprOf(100000), "100000.0");
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
