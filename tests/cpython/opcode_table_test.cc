#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "daemon/cpython/sites.h"
#include "tests/cpython/fake_elf.h"
#include "tests/interpreters.h"

namespace sbump {
namespace {

constexpr uint64_t kUnknown = FakeElf::kText + 0xFF0;

const Layout& LayoutOf(int minor) {
  const Layout* layout = FindLayout({.major = 3, .minor = minor});
  EXPECT_NE(layout, nullptr);
  return *layout;
}

bool IsUnused(int minor, size_t opcode) {
  const auto unused = UnusedOpcodes(minor);
  return std::ranges::find(unused, static_cast<uint8_t>(opcode)) != unused.end();
}

std::vector<uint64_t> MakeTable(int minor, uint64_t first_handler = FakeElf::kText + 0x1000) {
  std::vector<uint64_t> table;
  for (size_t opcode = 0; opcode < 256; ++opcode) {
    table.push_back(IsUnused(minor, opcode) ? kUnknown : first_handler + opcode * 16);
  }
  return table;
}

FakeElf WithText() {
  FakeElf fake;
  fake.PutCode(FakeElf::kText + 0x8000, Hex("c3"));
  return fake;
}

void AddTable(FakeElf& fake, const std::vector<uint64_t>& table) {
  for (uint64_t handler : table) fake.AddWord(handler);
}

absl::StatusOr<std::vector<uint64_t>> Find(const FakeElf& fake, int minor) {
  const auto elf = fake.Open();
  return elf.ok() ? FindOpcodeTable(*elf, LayoutOf(minor)) : elf.status();
}

TEST(UnusedOpcodesTest, AreThoseOfEachVersion) {
  EXPECT_EQ(UnusedOpcodes(11).size(), 74u);
  EXPECT_EQ(UnusedOpcodes(12).size(), 63u);
  EXPECT_EQ(UnusedOpcodes(13).size(), 44u);
  EXPECT_TRUE(UnusedOpcodes(10).empty());
  EXPECT_EQ(UnusedOpcodes(14).size(), 29u);
  EXPECT_EQ(UnusedOpcodes(15).size(), 22u);
  EXPECT_TRUE(UnusedOpcodes(16).empty());
  EXPECT_FALSE(IsUnused(11, 255));  // DO_TRACING
  EXPECT_TRUE(IsUnused(12, 255));
  for (int minor : {11, 12, 13, 14, 15}) {
    EXPECT_FALSE(IsUnused(minor, static_cast<size_t>(LayoutOf(minor).opcode.resume)));
    EXPECT_TRUE(std::ranges::is_sorted(UnusedOpcodes(minor)));
  }
}

TEST(FindOpcodeTableTest, FindsTheTableAmongOtherCodePointers) {
  for (int minor : {11, 12, 13, 14, 15}) {
    FakeElf fake = WithText();
    for (uint64_t i = 0; i < 300; ++i) fake.AddWord(FakeElf::kText + i);
    AddTable(fake, MakeTable(minor));
    for (uint64_t i = 0; i < 300; ++i) fake.AddWord(kUnknown);
    const auto table = Find(fake, minor);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(*table, MakeTable(minor));
  }
}

TEST(FindOpcodeTableTest, TakesIdenticalCopiesAsOne) {
  FakeElf fake = WithText();
  AddTable(fake, MakeTable(12));
  fake.AddWord(0);
  AddTable(fake, MakeTable(12));
  EXPECT_TRUE(Find(fake, 12).ok());
}

TEST(FindOpcodeTableTest, RefusesTwoDifferentTables) {
  FakeElf fake = WithText();
  AddTable(fake, MakeTable(12));
  fake.AddWord(0);
  AddTable(fake, MakeTable(12, FakeElf::kText + 0x3000));
  EXPECT_EQ(Find(fake, 12).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(FindOpcodeTableTest, RefusesATableWithAHole) {
  FakeElf fake = WithText();
  std::vector<uint64_t> table = MakeTable(13);
  table[7] = 0;
  AddTable(fake, table);
  EXPECT_FALSE(Find(fake, 13).ok());
}

TEST(FindOpcodeTableTest, RefusesAnUnusedOpcodeWithAHandlerAndAUsedOneWithout) {
  std::vector<uint64_t> table = MakeTable(13);
  table[UnusedOpcodes(13)[5]] = FakeElf::kText;
  FakeElf extra = WithText();
  AddTable(extra, table);
  EXPECT_FALSE(Find(extra, 13).ok());

  table = MakeTable(13);
  table[3] = kUnknown;
  FakeElf missing = WithText();
  AddTable(missing, table);
  EXPECT_FALSE(Find(missing, 13).ok());
}

TEST(FindOpcodeTableTest, RefusesTooFewDifferentHandlers) {
  std::vector<uint64_t> table = MakeTable(12);
  for (uint64_t& handler : table) {
    if (handler != kUnknown) handler = FakeElf::kText + handler % 50 * 2;
  }
  FakeElf fake = WithText();
  AddTable(fake, table);
  EXPECT_FALSE(Find(fake, 12).ok());
}

TEST(FindOpcodeTableTest, TheTableOfAnotherVersionDoesNotFit) {
  FakeElf fake = WithText();
  AddTable(fake, MakeTable(12));
  EXPECT_FALSE(Find(fake, 11).ok());
  EXPECT_FALSE(Find(fake, 13).ok());
  EXPECT_FALSE(Find(fake, 10).ok());
}

TEST(FindOpcodeTableTest, FindsOneInEveryInterpreterOfThisMachine) {
  const auto interpreters = FindInterpreters();
  if (interpreters.empty()) GTEST_SKIP() << "no interpreter here; SBUMP_PYTHONS may name some";
  RecordProperty("interpreters", static_cast<int>(interpreters.size()));
  for (const InstalledPython& interpreter : interpreters) {
    if (UnusedOpcodes(interpreter.version.minor).empty()) continue;
    SCOPED_TRACE(interpreter.elf_path);
    const auto elf =
        ElfFile::Open(Fd(open(interpreter.elf_path.c_str(), O_RDONLY)), interpreter.elf_path);
    ASSERT_TRUE(elf.ok()) << elf.status();
    const auto table = FindOpcodeTable(*elf, LayoutOf(interpreter.version.minor));
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(table->size(), 256u);
    for (uint64_t handler : *table) EXPECT_TRUE(elf->IsExecutable(handler));
  }
}

}  // namespace
}  // namespace sbump
