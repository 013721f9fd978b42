// FindSites() and FindArgumentSite() on every interpreter of this machine.
#include "daemon/cpython/sites.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "daemon/text/disassembly.h"
#include "tests/cpython/fake_elf.h"
#include "tests/interpreters.h"

namespace sbump {
namespace {

struct Expected {
  HitSite hit;
  uint64_t introduce;
};

// By build id, read off the disassembly of that build: a finder that changes its mind is seen.
const std::map<std::string, Expected>& KnownBuilds() {
  static const std::map<std::string, Expected> builds = {
      {"ff2a4988bea9e9bbbb8004eb6e74cc0792734c3b", {{.vaddr = 0x6c2c3, .code = 6}, 0}},  // 3.8.18
      {"8a6cadea533dd782615a0f14a75b5aef248a10d4", {{.vaddr = 0x66a6a, .code = 6}, 0}},  // 3.9.18
      {"ece57af647dd10ee274f46d757d62a5eab42c418", {{.vaddr = 0x656fa, .code = 6}, 0}},  // 3.10.13
      {"49daf84ed369fe589b73ea876f2591cd4c3588bb",                                       // 3.11.7
       {{.vaddr = 0x100f56, .code = 7, .frame = 5, .unit = 14}, 0x29d6a0}},
      {"571d98e01096d5c1c32420d229a6731a0a50d2a0",  // Debian's 3.11.2
       {{.vaddr = 0x52f5e4, .code = 7, .frame = 3, .unit = 15}, 0x550f10}},
      {"f9d5c82f5f2c22df68c1d49c944ef3dee5103dcc",  // 3.12.1
       {{.vaddr = 0x114718, .code = 7, .frame = 3, .unit = 10}, 0x2c3630}},
      {"d11d13fb0f82d32f3da1221ffd551ab179afb423",  // 3.13.0
       {{.vaddr = 0x8f2dc, .code = 7, .frame = 5, .unit = 15, .thread = 6}, 0x27bfc0}},
      {"f902f8a561c3abdb9c8d8c859d4243bd8c3f928f",  // Debian's 3.9.2
       {{.vaddr = 0x516d37, .code = 14}, 0}},
      {"7e8d5f6d0cd6cd1e9bff2a775c11d398cecca758",  // Debian's 3.13.5
       {{.vaddr = 0x5687fe, .code = 7, .frame = 3, .unit = 5, .thread = 14}, 0x63b970}},
      {"cccda113240f3ba4c016991793a62dc0cfe01613",  // Debian's 3.14.10
       {{.vaddr = 0x44e38c, .frame = 3, .unit = 10}, 0x786170}},
      {"d41ac9e28ff414f10df5da23fb051683a7b4adcf",  // Debian's 3.15.2
       {{.vaddr = 0x44d147, .frame = 3, .unit = 10}, 0x7d5b10}},
  };
  return builds;
}

void CheckProperties(const ElfFile& elf, const Layout& layout, const Sites& sites) {
  const auto branch = Decode(elf, sites.hit.vaddr);
  ASSERT_TRUE(branch.has_value());
  EXPECT_TRUE(EmulatedByKernel(*branch));
  EXPECT_TRUE(branch->condition == Condition::kEqual || branch->condition == Condition::kNotEqual);
  EXPECT_TRUE(elf.FileOffset(sites.hit.vaddr).ok());
  EXPECT_EQ(sites.hit.code >= 0, layout.minor <= 13 && !layout.free_threaded);
  EXPECT_EQ(sites.hit.passed_once, layout.minor >= 14);
  const bool new_frames = layout.minor >= 11;
  EXPECT_EQ(sites.hit.frame >= 0, new_frames);
  EXPECT_EQ(sites.hit.unit >= 0, new_frames);
  EXPECT_EQ(sites.hit.thread >= 0, layout.minor == 13);
  EXPECT_EQ(sites.introduce_vaddr.has_value(), new_frames);
}

void CheckAgainst(const Expected& expected, const Sites& sites) {
  EXPECT_EQ(sites.hit.vaddr, expected.hit.vaddr);
  EXPECT_EQ(sites.hit.code, expected.hit.code);
  EXPECT_EQ(sites.hit.frame, expected.hit.frame);
  EXPECT_EQ(sites.hit.unit, expected.hit.unit);
  EXPECT_EQ(sites.hit.thread, expected.hit.thread);
  EXPECT_EQ(sites.introduce_vaddr.value_or(0), expected.introduce);
}

TEST(FindSitesTest, FindsThemInEveryInterpreterOfThisMachine) {
  const auto interpreters = FindInterpreters();
  if (interpreters.empty()) GTEST_SKIP() << "no interpreter here; SBUMP_PYTHONS may name some";
  RecordProperty("interpreters", static_cast<int>(interpreters.size()));
  for (const InstalledPython& interpreter : interpreters) {
    const Layout* layout = FindLayout(interpreter.version);
    if (layout == nullptr) continue;
    SCOPED_TRACE(interpreter.elf_path);
    const auto elf =
        ElfFile::Open(Fd(open(interpreter.elf_path.c_str(), O_RDONLY)), interpreter.elf_path);
    ASSERT_TRUE(elf.ok()) << elf.status();
    const auto sites = FindSites(*elf, *layout);
    ASSERT_TRUE(sites.ok()) << sites.status();
    CheckProperties(*elf, *layout, *sites);
    const auto known = KnownBuilds().find(elf->build_id());
    if (known != KnownBuilds().end()) CheckAgainst(known->second, *sites);
  }
}

TEST(FindSitesTest, RefusesTheLayoutOfAnotherVersion) {
  for (const InstalledPython& interpreter : FindInterpreters()) {
    SCOPED_TRACE(interpreter.elf_path);
    const auto elf =
        ElfFile::Open(Fd(open(interpreter.elf_path.c_str(), O_RDONLY)), interpreter.elf_path);
    ASSERT_TRUE(elf.ok()) << elf.status();
    for (int minor : {11, 12, 13, 14, 15}) {
      if (minor == interpreter.version.minor) continue;
      EXPECT_FALSE(FindSites(*elf, *FindLayout({.major = 3, .minor = minor})).ok()) << minor;
    }
  }
}

TEST(FindArgumentSiteTest, IsAPushInCodeDeallocOfEveryInterpreter) {
  for (const InstalledPython& interpreter : FindInterpreters()) {
    const auto elf =
        ElfFile::Open(Fd(open(interpreter.elf_path.c_str(), O_RDONLY)), interpreter.elf_path);
    ASSERT_TRUE(elf.ok()) << elf.status();
    const auto function = elf->FindSymbol("code_dealloc");
    if (!function) continue;  // stripped
    SCOPED_TRACE(interpreter.elf_path);
    const auto site = FindArgumentSite(*elf, function->vaddr);
    ASSERT_TRUE(site.ok()) << site.status();
    const auto instruction = Decode(*elf, *site);
    ASSERT_TRUE(instruction.has_value());
    EXPECT_TRUE(EmulatedByKernel(*instruction));
    EXPECT_TRUE(instruction->Writes(kRsp));
    EXPECT_LT(*site, function->vaddr + function->size);
  }
}

constexpr uint64_t kFunction = FakeElf::kText + 0x100;

uint64_t ArgumentSiteIn(const std::string& code) {
  FakeElf fake;
  fake.PutCode(kFunction, Hex(code));
  const auto elf = fake.Open();
  EXPECT_TRUE(elf.ok()) << elf.status();
  const auto site = FindArgumentSite(*elf, kFunction);
  EXPECT_TRUE(site.ok()) << site.status();
  return site.value_or(0) - kFunction;
}

TEST(FindArgumentSiteTest, TakesTheFirstEmulatedInstructionBeforeRdiChanges) {
  EXPECT_EQ(ArgumentSiteIn("55 48 89 e5 c3"), 0u);
  EXPECT_EQ(ArgumentSiteIn("f3 0f 1e fa 41 54 c3"), 4u);           // endbr64; push %r12
  EXPECT_EQ(ArgumentSiteIn("48 83 ec 08 48 85 ff 74 00 c3"), 7u);  // sub; test; je
  EXPECT_EQ(ArgumentSiteIn("48 89 e0 eb 01 06 c3"), 3u);           // mov; jmp
}

TEST(FindArgumentSiteTest, FallsBackToTheEntry) {
  EXPECT_EQ(ArgumentSiteIn("48 89 f7 55 c3"), 0u);     // rdi is overwritten first
  EXPECT_EQ(ArgumentSiteIn("0f 1f 44 00 00 c3"), 0u);  // a 5-byte nop, then ret
  EXPECT_EQ(ArgumentSiteIn("48 89 e5 55 eb fd"), 0u);  // a loop back to the push
}

TEST(FindArgumentSiteTest, RefusesWhatIsNoCode) {
  FakeElf fake;
  fake.PutCode(kFunction, Hex("06"));
  const auto elf = fake.Open();
  ASSERT_TRUE(elf.ok());
  EXPECT_EQ(FindArgumentSite(*elf, kFunction).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_FALSE(FindArgumentSite(*elf, 0x1234).ok());
}

}  // namespace
}  // namespace sbump
