#include "daemon/cpython/resume_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "daemon/cpython/inline_caches.h"
#include "tests/fakes/fake_python.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kMinors[] = {11, 12, 13, 14, 15};

class ResumeUnitsTest : public testing::TestWithParam<int> {
 protected:
  FakePython python{GetParam()};
  const Layout& layout = python.layout();
  const uint8_t resume = static_cast<uint8_t>(layout.opcode.resume);
  const uint8_t yield = static_cast<uint8_t>(layout.opcode.yield_value);

  using Code = std::vector<CodeUnit>;
  absl::StatusOr<std::vector<size_t>> Find(const Code& code, size_t first = 0) {
    return FindResumeUnits(layout, code, first);
  }
  void ExpectRefused(const Code& code, absl::StatusCode status, const std::string& why) {
    const auto found = Find(code);
    EXPECT_EQ(found.status().code(), status) << found.status();
    EXPECT_THAT(found.status().message(), HasSubstr(why));
  }
  // With its caches.
  void Append(Code& code, int opcode, uint8_t oparg = 0) {
    const auto byte = static_cast<uint8_t>(opcode);
    code.push_back({byte, oparg});
    code.resize(code.size() + static_cast<size_t>(InlineCacheUnits(layout.minor, byte)));
  }
  Code Generator(size_t yields) {
    Code code;
    Append(code, resume);
    for (size_t i = 0; i < yields; ++i) {
      Append(code, yield, 1);
      Append(code, resume, 1);
    }
    return code;
  }
  RemoteAddr NewCode(const Code& code, int64_t size) {
    const RemoteAddr addr = python.NewCode({.flags = kCoResumable});
    const RemoteAddr copy = python.Allocate(static_cast<uint64_t>(layout.code.size) + 4096);
    std::vector<std::byte> head(static_cast<size_t>(layout.code.size));
    EXPECT_TRUE(python.memory().Read(addr, head).ok());
    EXPECT_TRUE(python.memory().Write(copy, head).ok());
    EXPECT_TRUE(python.memory()
                    .Write(copy + layout.code.co_code_adaptive, std::as_bytes(std::span(code)))
                    .ok());
    python.memory().Put(copy + kVarSize, size);
    return copy;
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, ResumeUnitsTest, testing::ValuesIn(kMinors));

TEST_P(ResumeUnitsTest, TheStartAndWhatFollowsEachYield) {
  const Code code = Generator(2);
  const size_t length = 1 + static_cast<size_t>(InlineCacheUnits(layout.minor, resume));
  EXPECT_THAT(*Find(code), ElementsAre(0, length + 1, 2 * length + 2));
}

TEST_P(ResumeUnitsTest, ArmedAndInstrumentedOnesToo) {
  Code code = Generator(1);
  const auto plain = *Find(code);
  for (size_t at : plain) {
    if (layout.opcode.instrumented_resume != kAbsent)
      code[at].opcode = static_cast<uint8_t>(layout.opcode.instrumented_resume);
  }
  if (layout.opcode.instrumented_yield_value != kAbsent)
    code[plain[1] - 1].opcode = static_cast<uint8_t>(layout.opcode.instrumented_yield_value);
  EXPECT_EQ(*Find(code), plain);
}

TEST_P(ResumeUnitsTest, WhatLooksLikeOneInACacheIsNone) {
  Code code = Generator(0);
  int with_cache = 0;
  while (InlineCacheUnits(layout.minor, static_cast<uint8_t>(with_cache)) < 2) ++with_cache;
  const size_t at = code.size();
  Append(code, with_cache);
  code[at + 1] = {yield, 1};
  code[at + 2] = {resume, 1};
  EXPECT_THAT(*Find(code), ElementsAre(0));
}

TEST_P(ResumeUnitsTest, CodeThatCannotBeFollowedIsRefused) {
  const uint8_t unused = UnusedOpcodes(layout.minor)[0];
  Code code = Generator(1);
  code.insert(code.begin(), {unused, 0});
  ExpectRefused(code, absl::StatusCode::kUnavailable, "at unit 0");

  code = Generator(1);
  Append(code, yield, 1);
  ExpectRefused(code, absl::StatusCode::kDataLoss, "ends within");
  Append(code, yield, 1);
  ExpectRefused(code, absl::StatusCode::kDataLoss, "a yield without a RESUME");

  code = Generator(0);
  Append(code, resume, 1);
  ExpectRefused(code, absl::StatusCode::kDataLoss, "a RESUME of oparg 1");
  EXPECT_EQ(Find(Generator(1), 1).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Find({}).status().code(), absl::StatusCode::kDataLoss);
  ExpectRefused(Generator(kMaxResumeUnits), absl::StatusCode::kResourceExhausted, "1000");
}

TEST_P(ResumeUnitsTest, NothingIsFoundOutsideOfAnyCode) {
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    Code code(random() % 40);
    for (CodeUnit& unit : code)
      unit = {static_cast<uint8_t>(random()), static_cast<uint8_t>(random() % 4)};
    const auto found = Find(code, random() % 8);
    if (!found.ok()) continue;
    for (size_t at : *found) ASSERT_LT(at, code.size());
  }
}

TEST_P(ResumeUnitsTest, WhereAGeneratorExpressionTakesItsIterator) {
  Code code;
  Append(code, resume, 4);
  const size_t first = code.size();
  Append(code, resume);
  if (layout.minor >= 15)
    EXPECT_THAT(*Find(code, first), ElementsAre(first));
  else
    EXPECT_EQ(Find(code, first).status().code(), absl::StatusCode::kDataLoss);
}

TEST_P(ResumeUnitsTest, OfACodeObject) {
  const Code code = Generator(2);
  const RemoteAddr addr = NewCode(code, static_cast<int64_t>(code.size()));
  const CodeHead head = python.Head(addr);
  const auto units = ReadResumeUnits(python.memory(), layout, head);
  ASSERT_TRUE(units.ok()) << units.status();
  ASSERT_EQ(units->size(), 3u);
  EXPECT_EQ(units->front(), head.unit);
  for (RemoteAddr unit : *units)
    EXPECT_TRUE(*MayBeResumeUnit(python.memory(), layout, head, unit)) << ToString(unit);
  for (const int64_t distance : {-2, 1, 2, 1 << 20})
    EXPECT_FALSE(*MayBeResumeUnit(python.memory(), layout, head, head.unit + distance)) << distance;
}

TEST_P(ResumeUnitsTest, OfAForgedSize) {
  for (const int64_t size : {int64_t{0}, int64_t{-1}, kMaxCodeUnits + 1, int64_t{1} << 60}) {
    const CodeHead head = python.Head(NewCode(Generator(1), size));
    EXPECT_FALSE(ReadResumeUnits(python.memory(), layout, head).ok()) << size;
    EXPECT_FALSE(MayBeResumeUnit(python.memory(), layout, head, head.unit + 4).ok()) << size;
  }
}

}  // namespace
}  // namespace sbump
