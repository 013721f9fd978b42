// Which instruction of a function a probe goes to, and which functions have none.
#include "daemon/text/entry_site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "daemon/native/function_finder.h"
#include "tests/native/fixture_elf.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class EntrySiteTest : public ::testing::Test {
 protected:
  absl::StatusOr<EntrySite> Site(std::string_view name) {
    const auto symbol = elf_.FindSymbol(name);
    EXPECT_TRUE(symbol) << name;
    const FunctionText function{.entry = symbol->vaddr,
                                .body = {symbol->vaddr, symbol->vaddr + symbol->size}};
    return FindEntrySites(elf_, {&function, 1}).front();
  }
  // How far behind the entry.
  uint64_t Distance(std::string_view name, bool emulated, std::string_view instruction) {
    const auto site = Site(name);
    EXPECT_TRUE(site.ok()) << name << ": " << site.status();
    if (!site.ok()) return 999;
    EXPECT_EQ(site->emulated, emulated) << name;
    EXPECT_THAT(Text(site->instruction), StartsWith(std::string(instruction))) << name;
    return site->instruction.vaddr - elf_.FindSymbol(name)->vaddr;
  }
  void ExpectNone(std::string_view name, const std::string& words) {
    const absl::Status status = Site(name).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << name << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }

  const ElfFile elf_ = OpenFixture();
};

TEST_F(EntrySiteTest, AnEmulatedEntryStays) { EXPECT_EQ(Distance("pushes", true, "push"), 0u); }

TEST_F(EntrySiteTest, MovesToTheFirstBranch) {
  EXPECT_EQ(Distance("compares_first", true, "jz"), 7u);
}

TEST_F(EntrySiteTest, RecursionIsNoLoop) { EXPECT_EQ(Distance("calls_itself", true, "jz"), 2u); }

TEST_F(EntrySiteTest, StaysWhereSomebodyJumpsInside) {
  EXPECT_EQ(Distance("entered_inside", false, "mov"), 0u);
  EXPECT_EQ(Distance("table_leads_inside", false, "mov"), 0u);
}

TEST_F(EntrySiteTest, StaysWhereAnotherFunctionBeginsInside) {
  EXPECT_EQ(Distance("falls_through", false, "mov"), 0u);
  EXPECT_EQ(Distance("is_fallen_into", true, "jz"), 2u);
}

TEST_F(EntrySiteTest, StaysBeforeWhatOthersCanSee) {
  EXPECT_EQ(Distance("stores_first", false, "movl"), 0u);
  EXPECT_EQ(Distance("asks_the_kernel", false, "mov"), 0u);
}

TEST_F(EntrySiteTest, LeavesAFiveByteNopAlone) {
  EXPECT_EQ(Distance("begins_with_nop5", true, "jz"), 7u);
}

TEST_F(EntrySiteTest, NoneWhereALoopGoesToTheEntry) {
  ExpectNone("loops_to_its_entry", "jumps back to its entry");
  ExpectNone("loops_by_its_cold_part", "jumps back to its entry");
  EXPECT_EQ(Distance("ends_in_a_call", true, "jnz"), 2u);
}

TEST_F(EntrySiteTest, NoneWhereTheKernelRefusesTheInstruction) {
  ExpectNone("is_atomic", "prefix");
}

TEST_F(EntrySiteTest, ManyAtOnceAreAsOneByOne) {
  std::vector<FunctionText> functions;
  std::vector<std::string> names = {"pushes", "compares_first", "entered_inside", "is_atomic",
                                    "loops_to_its_entry"};
  for (const std::string& name : names) {
    const auto symbol = elf_.FindSymbol(name);
    functions.push_back(
        {.entry = symbol->vaddr, .body = {symbol->vaddr, symbol->vaddr + symbol->size}});
  }
  const auto sites = FindEntrySites(elf_, functions);
  ASSERT_EQ(sites.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const auto alone = Site(names[i]);
    ASSERT_EQ(sites[i].ok(), alone.ok()) << names[i];
    if (!alone.ok()) continue;
    EXPECT_EQ(sites[i]->instruction.vaddr, alone->instruction.vaddr);
  }
}

TEST_F(EntrySiteTest, ABodyThatIsNoCodeIsNotGuessedAt) {
  const auto symbol = *elf_.FindSymbol("pushes");
  const FunctionText cut{.entry = symbol.vaddr, .body = {symbol.vaddr, symbol.vaddr + 2}};
  EXPECT_THAT(std::string(FindEntrySites(elf_, {&cut, 1}).front().status().message()),
              HasSubstr("cannot be read"));
  const FunctionText nowhere{.entry = 0x10, .body = {0x10, 0x20}};
  EXPECT_FALSE(FindEntrySites(elf_, {&nowhere, 1}).front().ok());
}

TEST_F(EntrySiteTest, BoundariesAreReadFromTheBeginning) {
  const uint64_t start = elf_.FindSymbol("pushes")->vaddr;
  for (uint64_t vaddr : {start, start + 1, start + 4, start + 5})
    EXPECT_TRUE(CheckBoundary(elf_, vaddr, {&start, 1}).ok()) << vaddr - start;
  EXPECT_THAT(std::string(CheckBoundary(elf_, start + 2, {&start, 1}).message()),
              HasSubstr("middle of an instruction, mov %rsp, %rbp"));
}

}  // namespace
}  // namespace sbump
