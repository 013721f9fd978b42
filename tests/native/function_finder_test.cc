// What a native target means in a file, and what is refused.
#include "daemon/native/function_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/native/fixture_elf.h"

namespace sbump {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

NativePattern Pattern(const std::string& what) {
  auto pattern = ParseNativePattern("libfixture.so" + (what[0] == '+' ? what : ":" + what));
  EXPECT_TRUE(pattern.ok()) << pattern.status();
  return *std::move(pattern);
}

class FunctionFinderTest : public ::testing::Test {
 protected:
  std::vector<std::string> Names(const std::string& what) {
    const auto found = FindFunctions(elf_, Pattern(what));
    EXPECT_TRUE(found.ok()) << what << ": " << found.status();
    std::vector<std::string> names;
    if (found.ok()) {
      for (const FoundFunction& function : found->functions) names.push_back(function.name);
    }
    return names;
  }
  uint64_t Entry(const std::string& what) {
    const auto found = FindFunctions(elf_, Pattern(what));
    EXPECT_TRUE(found.ok() && found->functions.size() == 1) << what;
    return found.ok() && found->functions.size() == 1 ? found->functions[0].text.entry : 0;
  }
  void ExpectRefused(const std::string& what, const std::string& words) {
    const absl::Status status = FindFunctions(elf_, Pattern(what)).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << what << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }
  uint64_t Symbol(const std::string& name) { return elf_.FindSymbol(name)->vaddr; }
  std::string OffsetText(uint64_t vaddr) {
    return absl::StrCat("+0x", absl::Hex(*elf_.FileOffset(vaddr)));
  }

  const ElfFile elf_ = OpenFixture();
};

TEST_F(FunctionFinderTest, FindsByNameExportedAndLocal) {
  EXPECT_EQ(Entry("pushes"), Symbol("pushes"));
  EXPECT_EQ(Entry("also_pushes"), Symbol("pushes"));
  EXPECT_THAT(Names("hidden_helper"), ElementsAre("hidden_helper"));
  EXPECT_THAT(Names("no_such_function"), ElementsAre());
}

TEST_F(FunctionFinderTest, FindsByMangledAndDemangledName) {
  EXPECT_THAT(Names("_ZNK6shapes6Square4AreaEi"), ElementsAre("_ZNK6shapes6Square4AreaEi"));
  EXPECT_THAT(Names("shapes::Square::Area(int) const"),
              ElementsAre("shapes::Square::Area(int) const"));
  EXPECT_THAT(Names("shapes::Square::Area(*"),
              UnorderedElementsAre("shapes::Square::Area(int) const",
                                   "shapes::Square::Area(int, char const*) const"));
  EXPECT_THAT(Names("*Twice<*>(*)"), UnorderedElementsAre("int shapes::Twice<int>(int)",
                                                          "double shapes::Twice<double>(double)"));
}

TEST_F(FunctionFinderTest, AGlobTakesPlainNamesAndEachAddressOnce) {
  EXPECT_EQ(Names("*pushes").size(), 1u);
  EXPECT_THAT(Names("variant_?"), UnorderedElementsAre("variant_a", "variant_b"));
  const auto found = FindFunctions(elf_, Pattern("without*"));
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(found->functions, ElementsAre());
  EXPECT_THAT(found->left_out, ElementsAre(HasSubstr("without_size: has no size")));
}

TEST_F(FunctionFinderTest, VersionsAtSeveralAddressesAreTold) {
  ExpectRefused("versioned", "versioned@@V2");
  ExpectRefused("versioned", "versioned@V1");
  EXPECT_EQ(Entry("versioned@V1"), Symbol("versioned_old"));
  EXPECT_EQ(Entry("versioned@@V2"), Symbol("versioned_new"));
  EXPECT_EQ(Entry("versioned@V2"), Symbol("versioned_new"));
  EXPECT_THAT(Names("versioned@V3"), ElementsAre());
  EXPECT_EQ(Entry("pushes@V1"), Symbol("pushes"));
}

TEST_F(FunctionFinderTest, WhatIsNoFunctionIsRefused) {
  ExpectRefused("some_data", "is data");
  ExpectRefused("without_size", "no size");
  ExpectRefused("without_type", "no function by its symbol type");
}

TEST_F(FunctionFinderTest, AnImportIsNotHeldHere) {
  const auto found = FindFunctions(elf_, Pattern("rand"));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->undefined);
  EXPECT_THAT(found->functions, ElementsAre());
}

TEST_F(FunctionFinderTest, AnIndirectFunctionIsMarked) {
  const auto found = FindFunctions(elf_, Pattern("chosen_function"));
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->functions.size(), 1u);
  EXPECT_TRUE(found->functions[0].indirect);
}

TEST_F(FunctionFinderTest, OffsetsAreThoseOfInstructions) {
  const uint64_t entry = Symbol("pushes");
  const auto at_entry = FindFunctions(elf_, Pattern(OffsetText(entry)));
  ASSERT_TRUE(at_entry.ok()) << at_entry.status();
  EXPECT_FALSE(at_entry->functions[0].is_instruction);
  EXPECT_EQ(at_entry->functions[0].name, OffsetText(entry));
  const auto inside = FindFunctions(elf_, Pattern(OffsetText(entry + 4)));
  ASSERT_TRUE(inside.ok()) << inside.status();
  EXPECT_TRUE(inside->functions[0].is_instruction);
  EXPECT_EQ(inside->functions[0].text.entry, entry + 4);
  ExpectRefused(OffsetText(entry + 2), "middle of an instruction");
  ExpectRefused(OffsetText(Symbol("without_type")), "neither a symbol nor the unwind table");
  ExpectRefused("+0x7fffffff", "no code of the file");
  ExpectRefused("+0x0", "no code of the file");
}

TEST_F(FunctionFinderTest, SimilarNamesAreSuggested) {
  EXPECT_THAT(SimilarNames(elf_, Pattern("pushs")), Contains("pushes"));
  EXPECT_THAT(SimilarNames(elf_, Pattern("PUSHES")), Contains("pushes"));
  EXPECT_THAT(SimilarNames(elf_, Pattern("shapes::Square::Area")),
              Contains("shapes::Square::Area(int) const"));
  EXPECT_THAT(SimilarNames(elf_, Pattern("Area")), Contains("shapes::Square::Area(int) const"));
  EXPECT_THAT(SimilarNames(elf_, Pattern("entirely_other")), ElementsAre());
}

// ---- Stripped, and without section headers ----

class StrippedTest : public ::testing::TestWithParam<std::string> {};

TEST_P(StrippedTest, ExportsAndFramesAreLeft) {
  const ElfFile whole = OpenFixture();
  const ElfFile elf = OpenFixture(GetParam());
  const auto found = FindFunctions(elf, Pattern("pushes"));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->functions[0].text.entry, whole.FindSymbol("pushes")->vaddr);
  EXPECT_THAT(FindFunctions(elf, Pattern("hidden_helper"))->functions, ElementsAre());
  // The local function's boundaries are known by the unwind table alone.
  const ElfSymbol helper = *whole.FindSymbol("hidden_helper");
  EXPECT_EQ(elf.FrameAt(helper.vaddr + 1), (CodeRange{helper.vaddr, helper.vaddr + helper.size}));
  const std::string offset = absl::StrCat("+0x", absl::Hex(*elf.FileOffset(helper.vaddr)));
  EXPECT_TRUE(FindFunctions(elf, Pattern(offset)).ok());
  const auto versioned = FindFunctions(elf, Pattern("versioned@V1"));
  ASSERT_TRUE(versioned.ok()) << versioned.status();
  EXPECT_EQ(versioned->functions[0].text.entry, whole.FindSymbol("versioned_old")->vaddr);
}

INSTANTIATE_TEST_SUITE_P(Files, StrippedTest,
                         ::testing::Values("libfixture_stripped.so", "libfixture_headless.so"));

TEST(FrameTest, AgreesWithTheSymbols) {
  const ElfFile elf = OpenFixture();
  int compared = 0;
  elf.ForEachSymbol([&](const ElfSymbolEntry& symbol) {
    if (!symbol.defined || !symbol.function || symbol.size == 0 || symbol.indirect) return;
    const auto frame = elf.FrameAt(symbol.vaddr);
    if (!frame) return;  // those without .cfi_startproc
    EXPECT_EQ(*frame, (CodeRange{symbol.vaddr, symbol.vaddr + symbol.size})) << symbol.name;
    ++compared;
  });
  EXPECT_GT(compared, 20);
  EXPECT_FALSE(elf.FrameAt(0).has_value());
  EXPECT_FALSE(elf.FrameAt(UINT64_MAX).has_value());
}

}  // namespace
}  // namespace sbump
