// Where the calls of objects come back (slot_tp_call), in the interpreters of this machine.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "daemon/cpython/sites.h"
#include "tests/interpreters.h"

namespace sbump {
namespace {

// Segments are moved by whole pages, and not far.
std::optional<uint64_t> VaddrOf(const ElfFile& elf, uint64_t file_offset) {
  for (uint64_t moved = 0; moved <= 0x1000000; moved += 0x1000) {
    const absl::StatusOr<uint64_t> there = elf.FileOffset(file_offset + moved);
    if (there.ok() && *there == file_offset && elf.IsExecutable(file_offset + moved))
      return file_offset + moved;
  }
  return std::nullopt;
}

TEST(ObjectCallSitesTest, AreFoundInEveryInterpreterOfThisMachine) {
  int tried = 0;
  for (const InstalledPython& interpreter : FindInterpreters()) {
    if (!interpreter.version.AtLeast(3, 8)) continue;
    SCOPED_TRACE(interpreter.executable);
    const std::string offset = OutputOfScript(interpreter, "tests/cpython/object_call_facts.py");
    ASSERT_NE(offset, "");
    const auto elf = ElfFile::Open(Fd(open(interpreter.elf_path.c_str(), O_RDONLY | O_CLOEXEC)),
                                   interpreter.elf_path);
    ASSERT_TRUE(elf.ok()) << elf.status();
    const std::optional<uint64_t> entry = VaddrOf(*elf, std::strtoull(offset.c_str(), nullptr, 10));
    ASSERT_TRUE(entry);
    const auto sites = FindCallSites(*elf, *entry);
    EXPECT_TRUE(sites.ok()) << sites.status();
    if (!sites.ok()) continue;
    EXPECT_GE(std::ranges::count_if(sites->saved, [](uint8_t at) { return at != 0; }), 3)
        << testing::PrintToString(sites->saved);
    for (const ReturnSite& site : sites->ends) {
      printf("%s: entered at %#lx, seen at %#lx in register %d, %lu bytes\n",
             ToString(interpreter.version).c_str(), static_cast<unsigned long>(*entry),
             static_cast<unsigned long>(site.vaddr), site.result,
             static_cast<unsigned long>(site.stack_bytes));
      EXPECT_GE(site.stack_bytes, 32u);
    }
    ++tried;
  }
  EXPECT_GT(tried, 0);
}

}  // namespace
}  // namespace sbump
