#include "daemon/cpython/version.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/cpython/sites.h"
#include "tests/cpython/fake_elf.h"
#include "tests/interpreters.h"

namespace sbump {
namespace {

constexpr uint64_t kLoop = FakeElf::kText;
constexpr uint64_t kGetVersion = FakeElf::kText + 0x100;

TEST(PythonVersionTest, ReadsPyVersionHex) {
  const PythonVersion final_release = PythonVersionFromHex(0x030C01F0);
  EXPECT_EQ(final_release, (PythonVersion{.major = 3, .minor = 12, .micro = 1}));
  EXPECT_EQ(ToString(final_release), "3.12.1");
  EXPECT_EQ(ToString(PythonVersionFromHex(0x030E00C2)), "3.14.0rc2");
  EXPECT_EQ(ToString(PythonVersionFromHex(0x030D00B1)), "3.13.0b1");
  EXPECT_EQ(ToString(PythonVersionFromHex(0x030D00A6)), "3.13.0a6");
}

TEST(PythonVersionTest, ComparesMinorVersions) {
  const PythonVersion version{.major = 3, .minor = 11, .micro = 7};
  EXPECT_TRUE(version.AtLeast(3, 11));
  EXPECT_TRUE(version.AtLeast(2, 99));
  EXPECT_FALSE(version.AtLeast(3, 12));
  EXPECT_FALSE(version.AtLeast(4, 0));
}

FakeElf WithLoop() {
  FakeElf fake;
  fake.AddSymbol("_PyEval_EvalFrameDefault", kLoop);
  fake.AddSymbol("Py_GetVersion", kGetVersion);
  fake.PutCode(kGetVersion, Hex("c3"));
  return fake;
}

absl::StatusOr<PythonVersion> Find(const FakeElf& fake) {
  const auto elf = fake.Open();
  return elf.ok() ? FindPythonVersion(*elf) : elf.status();
}

// mov $string,%ecx; ret
void NameInCode(FakeElf& fake, uint64_t at, uint64_t string, const std::string& after = "c3") {
  std::vector<uint8_t> code = {0xB9};
  for (int shift = 0; shift < 32; shift += 8) code.push_back(static_cast<uint8_t>(string >> shift));
  for (uint8_t byte : Hex(after)) code.push_back(byte);
  fake.PutCode(at, code);
}

absl::StatusOr<PythonVersion> FindNamed(std::string_view text) {
  FakeElf fake = WithLoop();
  NameInCode(fake, kGetVersion, fake.AddString(text));
  return Find(fake);
}

TEST(FindPythonVersionTest, ReadsTheSymbol) {
  FakeElf fake = WithLoop();
  fake.AddSymbol("Py_Version", fake.AddWord(0x030D00F0));
  EXPECT_EQ(ToString(Find(fake).value()), "3.13.0");
}

TEST(FindPythonVersionTest, RefusesASymbolThatIsNoVersion) {
  for (const uint64_t word : {uint64_t{0}, uint64_t{0x030800F0}, uint64_t{0x040000F0},
                              uint64_t{0x1'030D00F0}, UINT64_MAX}) {
    FakeElf fake = WithLoop();
    fake.AddSymbol("Py_Version", fake.AddWord(word));
    EXPECT_EQ(Find(fake).status().code(), absl::StatusCode::kUnimplemented) << word;
  }
}

TEST(FindPythonVersionTest, ReadsTheStringThatPyGetVersionNames) {
  EXPECT_EQ(ToString(FindNamed("3.8.18").value()), "3.8.18");
  EXPECT_EQ(ToString(FindNamed("3.10.0rc2").value()), "3.10.0rc2");
  EXPECT_EQ(ToString(FindNamed("3.10.13+").value()), "3.10.13");
  EXPECT_EQ(ToString(FindNamed("2.7.18").value()), "2.7.18");
}

TEST(FindPythonVersionTest, DoesNotMisreadOtherStrings) {
  for (const char* text : {"", "3", "3.8", "3.8.", "3..8", "3.8.18 (default)", "-3.8.1", "3.-8.1",
                           "3.8.18rc", "3.999.1", "13.1.2", "4.0.0", "%.80s (%.80s) %.80s",
                           "3.8.1.2", "99999999999999.1.1", "3.8.18111111111111111111111111"}) {
    EXPECT_EQ(FindNamed(text).status().code(), absl::StatusCode::kUnimplemented) << text;
  }
}

TEST(FindPythonVersionTest, RefusesTwoDifferentStrings) {
  FakeElf fake = WithLoop();
  NameInCode(fake, kGetVersion, fake.AddString("3.8.18"), "");
  NameInCode(fake, kGetVersion + 5, fake.AddString("3.9.1"));
  const auto version = Find(fake);
  EXPECT_EQ(version.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(version.status().ToString().find("names two"), std::string::npos);
}

TEST(FindPythonVersionTest, AFileWithoutAnInterpreterSaysSo) {
  FakeElf fake;
  fake.AddSymbol("Py_GetVersion", kGetVersion);  // GraalPy and stubs have no loop
  fake.PutCode(kGetVersion, Hex("c3"));
  EXPECT_EQ(Find(fake).status().message(), "no CPython interpreter in fake");
  EXPECT_EQ(Find(FakeElf()).status().message(), "no CPython interpreter in fake");
}

TEST(FindPythonVersionTest, AgreesWithEveryInterpreterOfThisMachine) {
  const auto interpreters = FindInterpreters();
  if (interpreters.empty()) GTEST_SKIP() << "no interpreter here; SBUMP_PYTHONS may name some";
  RecordProperty("interpreters", static_cast<int>(interpreters.size()));
  for (const InstalledPython& interpreter : interpreters) {
    SCOPED_TRACE(interpreter.elf_path);
    const auto elf =
        ElfFile::Open(Fd(open(interpreter.elf_path.c_str(), O_RDONLY)), interpreter.elf_path);
    ASSERT_TRUE(elf.ok()) << elf.status();
    const auto version = FindPythonVersion(*elf);
    ASSERT_TRUE(version.ok()) << version.status();
    EXPECT_EQ(ToString(*version), ToString(interpreter.version));
  }
}

}  // namespace
}  // namespace sbump
