// resume_units.h and inline_caches.h beside what the interpreters of this machine say.
#include <gtest/gtest.h>

#include <charconv>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "daemon/cpython/inline_caches.h"
#include "daemon/cpython/resume_units.h"
#include "tests/interpreters.h"

namespace sbump {
namespace {

std::vector<CodeUnit> FromHex(std::string_view hex) {
  std::vector<CodeUnit> code(hex.size() / 4);
  const auto byte = [&](size_t at) {
    unsigned value = 0;
    std::from_chars(hex.data() + at, hex.data() + at + 2, value, 16);
    return static_cast<uint8_t>(value);
  };
  for (size_t i = 0; i < code.size(); ++i) code[i] = {byte(4 * i), byte(4 * i + 2)};
  return code;
}

std::string Joined(const std::vector<size_t>& units) {
  std::string text;
  for (size_t unit : units) text += (text.empty() ? "" : ",") + std::to_string(unit);
  return text;
}

// bytecode_facts.py says what the lines are.
void CheckLengths(int minor, const std::string& facts) {
  std::map<int, int> said;
  std::istringstream lines(facts);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind;
    int opcode = 0, units = 0;
    if (words >> kind && kind == "length" && words >> opcode >> units) said[opcode] = units;
  }
  EXPECT_GT(said.size(), 150u);
  int stand_ins = 0;
  for (int opcode = 0; opcode < 256; ++opcode) {
    const int units = InlineCacheUnits(minor, static_cast<uint8_t>(opcode));
    const auto real = said.find(opcode);
    if (real == said.end())
      EXPECT_EQ(units, kNoLength) << opcode;
    else if (units == kNoLength)
      ++stand_ins;
    else
      EXPECT_EQ(units, real->second) << opcode;
  }
  EXPECT_LE(stand_ins, 6);  // CACHE, RESERVED, and those that inline_caches.h names
}

void CheckCode(const Layout& layout, const std::string& facts) {
  int count = 0, resumed = 0;
  std::istringstream lines(facts);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, units, hex;
    size_t first = 0;
    if (!(words >> kind) || kind != "code") continue;
    ASSERT_TRUE(words >> first >> units >> hex) << line;
    const auto found = FindResumeUnits(layout, FromHex(hex), first);
    ASSERT_TRUE(found.ok()) << found.status() << " " << line;
    ASSERT_EQ(Joined(*found), units) << hex;
    ++count;
    resumed += found->size() > 1 ? 1 : 0;
  }
  EXPECT_GT(count, 200);
  EXPECT_GT(resumed, 200);
}

TEST(RealBytecodeTest, AgreesWithEveryInterpreterOfThisMachine) {
  int tried = 0;
  for (const InstalledPython& interpreter : FindInterpreters()) {
    const Layout* layout = FindLayout(interpreter.version);
    if (layout == nullptr || layout->minor < 11) continue;
    SCOPED_TRACE(interpreter.executable);
    const std::string facts = OutputOfScript(interpreter, "tests/cpython/bytecode_facts.py");
    CheckLengths(layout->minor, facts);
    CheckCode(*layout, facts);
    ++tried;
  }
  RecordProperty("interpreters", tried);
  if (tried == 0) GTEST_SKIP() << "no CPython 3.11 or later here; SBUMP_PYTHONS may name some";
}

}  // namespace
}  // namespace sbump
