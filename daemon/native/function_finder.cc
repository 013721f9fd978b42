#include "daemon/native/function_finder.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_join.h"
#include "daemon/base/str_cat.h"
#include "daemon/native/demangle.h"

namespace sbump {
namespace {

absl::Status Refused(const ElfFile& elf, const NativePattern& pattern, std::string_view why) {
  return absl::FailedPreconditionError(StrCat(elf.name(), ": ", pattern.What(), ": ", why));
}

// A cold part is no function of its own: it is jumped to from one.
bool IsPart(std::string_view name) {
  return name.ends_with(".cold") || name.find(".cold.") != name.npos;
}

std::string HexText(uint64_t value) { return StrCat("0x", absl::Hex(value)); }

// ---- By address ----

// The functions around `vaddr`: by symbols (aliases and nested ones, too) and by the unwind table.
std::vector<CodeRange> Around(const ElfFile& elf, uint64_t vaddr) {
  std::set<std::pair<uint64_t, uint64_t>> ranges;
  elf.ForEachSymbol([&](const ElfSymbolEntry& symbol) {
    if (!symbol.defined || !symbol.function || symbol.size == 0) return;
    if (symbol.size > UINT64_MAX - symbol.vaddr) return;
    if (vaddr >= symbol.vaddr && vaddr < symbol.vaddr + symbol.size)
      ranges.insert({symbol.vaddr, symbol.vaddr + symbol.size});
  });
  if (const auto frame = elf.FrameAt(vaddr)) ranges.insert({frame->start, frame->end});
  std::vector<CodeRange> around;
  for (const auto& [start, end] : ranges) around.push_back({start, end});
  return around;
}

std::optional<uint64_t> AddressOfOffset(const ElfFile& elf, uint64_t file_offset) {
  for (const ElfSegment& s : elf.segments()) {
    if (s.executable && file_offset >= s.file_offset && file_offset - s.file_offset < s.file_size)
      return s.vaddr + (file_offset - s.file_offset);
  }
  return std::nullopt;
}

// Many tools print addresses where an offset is wanted.
absl::Status NoCodeAtOffset(const ElfFile& elf, const NativePattern& pattern) {
  std::string why = "no code of the file is at this offset";
  const auto offset = elf.FileOffset(*pattern.file_offset);
  if (elf.IsExecutable(*pattern.file_offset) && offset.ok())
    why += StrCat("; as an address (nm and objdump print those) it is offset +", HexText(*offset));
  return Refused(elf, pattern, why);
}

absl::StatusOr<FoundFunctions> FindByOffset(const ElfFile& elf, const NativePattern& pattern) {
  const auto vaddr = AddressOfOffset(elf, *pattern.file_offset);
  if (!vaddr) return NoCodeAtOffset(elf, pattern);
  const std::vector<CodeRange> around = Around(elf, *vaddr);
  if (around.empty()) {
    return Refused(elf, pattern,
                   "neither a symbol nor the unwind table says which function this is in: that an "
                   "instruction begins here cannot be proven");
  }
  std::vector<uint64_t> starts;
  for (const CodeRange& range : around) starts.push_back(range.start);
  SB_RETURN_IF_ERROR(CheckBoundary(elf, *vaddr, starts));
  FoundFunctions found;
  // The innermost comes last.
  found.functions.push_back({.name = pattern.What(),
                             .text = {.entry = *vaddr, .body = around.back()},
                             .is_instruction = around.back().start != *vaddr});
  return found;
}

// ---- By name ----

// Why a symbol cannot be probed; empty: it can.
std::string Objection(const ElfFile& elf, const ElfSymbolEntry& symbol) {
  if (!elf.IsExecutable(symbol.vaddr)) return "is data, not a function";
  if (symbol.indirect) return "";
  if (!symbol.function)
    return StrCat("is no function by its symbol type; probe an instruction, as PATH+0xOFFSET");
  if (symbol.size == 0) return "has no size, so that its end is not known";
  return "";
}

absl::StatusOr<FoundFunction> ToFunction(const ElfFile& elf, const ElfSymbolEntry& symbol,
                                         std::string name) {
  FoundFunction function{
      .name = std::move(name),
      .text = {.entry = symbol.vaddr, .body = {symbol.vaddr, symbol.vaddr + symbol.size}},
      .indirect = symbol.indirect};
  if (symbol.indirect) return function;
  // What the compiler made one frame is one function, also where a symbol names less of it.
  if (const auto frame = elf.FrameAt(symbol.vaddr)) {
    SB_RETURN_IF_ERROR(CheckBoundary(elf, symbol.vaddr, {&frame->start, 1}));
    function.text.body = {std::min(frame->start, function.text.body.start),
                          std::max(frame->end, function.text.body.end)};
  }
  return function;
}

bool IsMeant(const NativePattern& pattern, const ElfSymbolEntry& symbol) {
  return symbol.name == pattern.symbol &&
         (pattern.version.empty() || symbol.version == pattern.version);
}

std::string PlaceText(const ElfFile& elf, const ElfSymbolEntry& symbol, std::string_view name) {
  if (!symbol.version.empty())
    return StrCat(name, symbol.default_version ? "@@" : "@", symbol.version);
  const auto offset = elf.FileOffset(symbol.vaddr);
  return offset.ok() ? StrCat("+", HexText(*offset)) : HexText(symbol.vaddr);
}

absl::StatusOr<FoundFunctions> FindByName(const ElfFile& elf, const NativePattern& pattern) {
  FoundFunctions found;
  std::map<uint64_t, ElfSymbolEntry> by_address;
  elf.ForEachSymbol([&](const ElfSymbolEntry& symbol) {
    if (!IsMeant(pattern, symbol)) return;
    found.undefined |= !symbol.defined;
    // The same function in both tables: only the dynamic one has a version.
    if (symbol.defined) by_address.emplace(symbol.vaddr, symbol);
  });
  if (by_address.empty()) return found;
  found.undefined = false;
  if (by_address.size() > 1) {
    std::set<std::string> places;
    for (const auto& [vaddr, symbol] : by_address)
      places.insert(PlaceText(elf, symbol, pattern.symbol));
    return Refused(elf, pattern,
                   StrCat("stands for ", by_address.size(),
                          " functions; write which: ", absl::StrJoin(places, ", ")));
  }
  const ElfSymbolEntry& symbol = by_address.begin()->second;
  if (const std::string why = Objection(elf, symbol); !why.empty())
    return Refused(elf, pattern, why);
  SB_ASSIGN_OR_RETURN(FoundFunction function, ToFunction(elf, symbol, pattern.What()));
  found.functions.push_back(std::move(function));
  return found;
}

std::string ReadableName(std::string_view name) {
  const std::string text(name);
  return Demangle(text).value_or(text);
}

absl::StatusOr<FoundFunctions> FindByGlob(const ElfFile& elf, const NativePattern& pattern) {
  constexpr size_t kMostToldOf = 10;
  FoundFunctions found;
  std::map<uint64_t, FoundFunction> by_address;
  std::set<uint64_t> seen;
  elf.ForEachSymbol([&](const ElfSymbolEntry& symbol) {
    if (!symbol.defined || !symbol.function || IsPart(symbol.name)) return;
    std::string name = ReadableName(symbol.name);
    // Aliases: one function, under the first name.
    if (!pattern.name->Matches(name) || !seen.insert(symbol.vaddr).second) return;
    std::string why = Objection(elf, symbol);
    if (why.empty()) {
      absl::StatusOr<FoundFunction> function = ToFunction(elf, symbol, name);
      if (function.ok()) {
        by_address.emplace(symbol.vaddr, *std::move(function));
        return;
      }
      why = std::string(function.status().message());
    }
    if (found.left_out.size() < kMostToldOf) found.left_out.push_back(StrCat(name, ": ", why));
  });
  for (auto& [vaddr, function] : by_address) found.functions.push_back(std::move(function));
  return found;
}

}  // namespace

absl::StatusOr<FoundFunctions> FindFunctions(const ElfFile& elf, const NativePattern& pattern) {
  if (pattern.file_offset) return FindByOffset(elf, pattern);
  return pattern.name ? FindByGlob(elf, pattern) : FindByName(elf, pattern);
}

absl::StatusOr<FunctionText> FunctionAt(const ElfFile& elf, uint64_t vaddr) {
  const std::vector<CodeRange> around = Around(elf, vaddr);
  const auto begins_there =
      std::ranges::find_if(around, [vaddr](const CodeRange& r) { return r.start == vaddr; });
  if (begins_there == around.end()) {
    return absl::FailedPreconditionError(
        StrCat(elf.name(), ": no function is known to begin at ", HexText(vaddr)));
  }
  return FunctionText{.entry = vaddr, .body = *begins_there};
}

}  // namespace sbump
