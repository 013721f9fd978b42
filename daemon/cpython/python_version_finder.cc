#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/sites.h"
#include "daemon/text/control_flow.h"

namespace sbump {
namespace {

constexpr size_t kMaxVersionBytes = 24;             // PY_VERSION: "3.13.0rc1+"
constexpr size_t kMaxGetVersionInstructions = 200;  // 17 in 3.6, 24 in 3.13

absl::Status NoInterpreter(const ElfFile& elf) {
  return absl::UnimplementedError(StrCat("no CPython interpreter in ", elf.name()));
}

absl::Status UnclearVersion(const ElfFile& elf, std::string_view why) {
  return absl::UnimplementedError(
      StrCat(elf.name(), ": the version of its CPython interpreter is unclear: ", why));
}

bool ConsumePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool ConsumeNumber(std::string_view& text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || text.empty() || text.front() == '-' || number > 255) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool ConsumeLevel(std::string_view& text, int& level) {
  if (ConsumePrefix(text, "a")) {
    level = 0xA;
  } else if (ConsumePrefix(text, "b")) {
    level = 0xB;
  } else if (ConsumePrefix(text, "rc") || ConsumePrefix(text, "c")) {
    level = 0xC;
  } else {
    return false;
  }
  return true;
}

// PY_VERSION as Include/patchlevel.h has it: "3.8.18", "3.13.0rc2", with a "+" between releases.
std::optional<PythonVersion> ParseVersion(std::string_view text) {
  PythonVersion version;
  if (!ConsumeNumber(text, version.major) || !ConsumePrefix(text, ".")) return std::nullopt;
  if (!ConsumeNumber(text, version.minor) || !ConsumePrefix(text, ".")) return std::nullopt;
  if (!ConsumeNumber(text, version.micro)) return std::nullopt;
  if (ConsumeLevel(text, version.release_level) && !ConsumeNumber(text, version.serial)) {
    return std::nullopt;
  }
  ConsumePrefix(text, "+");
  const bool plausible = text.empty() && (version.major == 2 || version.major == 3);
  return plausible ? std::optional(version) : std::nullopt;
}

std::optional<PythonVersion> ParseVersionAt(const ElfFile& elf, uint64_t vaddr) {
  const auto bytes = elf.BytesFrom(vaddr, kMaxVersionBytes);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const size_t size = bytes.empty() ? 0 : strnlen(text, bytes.size());
  // A string that does not end within the limit is none of PY_VERSION's.
  if (size == bytes.size()) return std::nullopt;
  return ParseVersion(std::string_view(text, size));
}

// The address that the instruction computes: `lea x(%rip),reg`, or `mov $x,reg` in a program at a
// fixed address.
std::optional<uint64_t> ComputedAddress(const ElfFile& elf, const Instruction& instruction) {
  const Operand& source = instruction.operands[1];
  if (instruction.operation == Operation::kAddress && source.reg == kRip && !source.indexed) {
    return instruction.end() + static_cast<uint64_t>(source.value);
  }
  if (instruction.operation == Operation::kMove && source.kind == Operand::Kind::kImmediate &&
      instruction.operands[0].kind == Operand::Kind::kRegister && !elf.position_independent()) {
    return static_cast<uint64_t>(source.value);
  }
  return std::nullopt;
}

absl::StatusOr<PythonVersion> VersionFromSymbol(const ElfFile& elf, const ElfSymbol& symbol) {
  // const unsigned long Py_Version = PY_VERSION_HEX (Python/getversion.c, v3.11.0).
  uint64_t hex = 0;
  const auto bytes = elf.BytesAt(symbol.vaddr, sizeof hex);
  if (!bytes.ok()) return UnclearVersion(elf, "Py_Version is not in the file");
  std::memcpy(&hex, bytes->data(), sizeof hex);
  const PythonVersion version = PythonVersionFromHex(static_cast<uint32_t>(hex));
  if (hex > UINT32_MAX || version.major != 3 || !version.AtLeast(3, 11)) {
    return UnclearVersion(elf, StrCat("Py_Version is 0x", absl::Hex(hex)));
  }
  return version;
}

// Before 3.11 the version is only in text: PyOS_snprintf(version, sizeof(version), "%.80s (%.80s)
// %.80s", PY_VERSION, Py_GetBuildInfo(), Py_GetCompiler()) (Python/getversion.c, v3.6.15).
absl::StatusOr<PythonVersion> VersionFromCode(const ElfFile& elf, const ElfSymbol& get_version) {
  const uint64_t start = get_version.vaddr;
  const auto code = ReachedCode::From(elf, {&start, 1}, kMaxGetVersionInstructions);
  if (!code.ok()) return UnclearVersion(elf, "Py_GetVersion is too long");
  std::optional<PythonVersion> found;
  for (const Instruction& instruction : code->instructions()) {
    const auto address = ComputedAddress(elf, instruction);
    const auto version = address ? ParseVersionAt(elf, *address) : std::nullopt;
    if (!version || version == found) continue;
    if (found) return UnclearVersion(elf, "Py_GetVersion names two");
    found = version;
  }
  if (!found) return UnclearVersion(elf, "Py_GetVersion names none");
  return *found;
}

}  // namespace

absl::StatusOr<PythonVersion> FindPythonVersion(const ElfFile& elf) {
  // PyPy exports neither name; other programs have no interpreter loop.
  const auto get_version = elf.FindSymbol("Py_GetVersion");
  const bool has_loop =
      elf.FindSymbol("_PyEval_EvalFrameDefault") || elf.FindSymbol("PyEval_EvalFrameEx");
  if (!get_version || !has_loop || !elf.IsExecutable(get_version->vaddr)) return NoInterpreter(elf);
  if (const auto symbol = elf.FindSymbol("Py_Version")) return VersionFromSymbol(elf, *symbol);
  return VersionFromCode(elf, *get_version);
}

}  // namespace sbump
