#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "daemon/process/elf_file.h"
#include "daemon/process/proc_maps.h"
#include "tests/process/child.h"
#include "tests/process/small_elf.h"

namespace sbump {
namespace {

constexpr uint64_t kBias = 0x7f0000000000;

Mapping Map(uint64_t start, uint64_t offset, bool executable) {
  return {.start = {start},
          .end = {start + 0x1000},
          .readable = true,
          .executable = executable,
          .file_offset = offset,
          .inode = 1,
          .path = "/small"};
}

std::vector<Mapping> Loaded(uint64_t bias) {
  return {Map(bias, 0, false), Map(bias + kSmallCode, kSmallCode, true),
          Map(bias + kSmallData, kSmallDataInFile, false)};
}

ElfFile Small(uint16_t type, uint64_t base) {
  auto elf = ElfFile::Open(FileWith(SmallElf(type, base).bytes()), "small");
  EXPECT_TRUE(elf.ok()) << elf.status();
  return std::move(*elf);
}

TEST(LoadBiasTest, IsWhereTheLoaderPutALibrary) {
  const auto bias = Small(ET_DYN, 0).LoadBias(Loaded(kBias));
  ASSERT_TRUE(bias.ok()) << bias.status();
  EXPECT_EQ(*bias, kBias);
}

TEST(LoadBiasTest, IsZeroForAFixedProgramAtItsPlaceOnly) {
  const ElfFile elf = Small(ET_EXEC, 0x400000);
  EXPECT_EQ(*elf.LoadBias(Loaded(0x400000)), 0u);
  EXPECT_TRUE(absl::IsDataLoss(elf.LoadBias(Loaded(0x500000)).status()));
}

TEST(LoadBiasTest, AReadOnlyViewOfTheWholeFileDoesNotDisturb) {
  auto mappings = Loaded(kBias);
  Mapping view = Map(kBias - 0x100000, 0, false);
  view.end.value = view.start.value + kSmallFileBytes;
  mappings.insert(mappings.begin(), view);
  const auto bias = Small(ET_DYN, 0).LoadBias(mappings);
  ASSERT_TRUE(bias.ok()) << bias.status();
  EXPECT_EQ(*bias, kBias);
}

TEST(LoadBiasTest, MappingsThatContradictTheFileAreRefused) {
  const ElfFile elf = Small(ET_DYN, 0);
  EXPECT_TRUE(absl::IsDataLoss(elf.LoadBias({}).status()));
  auto without_data = Loaded(kBias);
  without_data.pop_back();
  EXPECT_TRUE(absl::IsDataLoss(elf.LoadBias(without_data).status()));
  auto moved_data = Loaded(kBias);
  moved_data.back().start.value += 0x1000;
  moved_data.back().end.value += 0x1000;
  EXPECT_TRUE(absl::IsDataLoss(elf.LoadBias(moved_data).status()));
}

TEST(LoadBiasTest, AFileLoadedTwiceIsRefused) {
  auto mappings = Loaded(kBias);
  for (const Mapping& m : Loaded(kBias + 0x100000)) mappings.push_back(m);
  const auto bias = Small(ET_DYN, 0).LoadBias(mappings);
  EXPECT_TRUE(absl::IsFailedPrecondition(bias.status())) << bias.status();
}

int kAnything = 42;

// This program's own child: every library in it has a bias, and the program's leads to kAnything.
TEST(LoadBiasTest, HoldsForEveryFileInALiveProcess) {
  Child child([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  ASSERT_TRUE(process.ok()) << process.status();
  const auto maps = ReadMaps(*process);
  ASSERT_TRUE(maps.ok()) << maps.status();
  size_t checked = 0;
  for (const Mapping& code : *maps) {
    if (!code.executable || code.inode == 0) continue;
    std::vector<Mapping> same;
    std::ranges::copy_if(*maps, std::back_inserter(same),
                         [&](const Mapping& m) { return m.path == code.path; });
    auto file = OpenMappedFile(*process, code, nullptr);
    ASSERT_TRUE(file.ok()) << file.status();
    const auto elf = ElfFile::Open(std::move(*file), code.path);
    ASSERT_TRUE(elf.ok()) << elf.status();
    const auto bias = elf->LoadBias(same);
    ASSERT_TRUE(bias.ok()) << bias.status();
    ++checked;
    const uint64_t here = reinterpret_cast<uint64_t>(&kAnything);
    if (std::ranges::any_of(same, [&](const Mapping& m) { return m.Contains({here}); })) {
      const auto bytes = elf->BytesAt(here - *bias, sizeof kAnything);
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      EXPECT_EQ(std::memcmp(bytes->data(), &kAnything, sizeof kAnything), 0);
    }
  }
  EXPECT_GE(checked, 3u);
}

}  // namespace
}  // namespace sbump
