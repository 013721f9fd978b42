// SimilarNames(), declared in function_finder.h.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/edit_distance.h"
#include "daemon/native/demangle.h"
#include "daemon/native/function_finder.h"

namespace sbump {
namespace {

constexpr size_t kMostNames = 200'000;
constexpr size_t kMostSuggestions = 3;
constexpr size_t kMostEdits = 2;
constexpr size_t kFar = kMostEdits + 2;

std::string Lower(std::string_view text) { return absl::AsciiStrToLower(ToAbsl(text)); }

// "f(" where the pattern says "f": its parameters were left out.
bool LacksParameters(std::string_view wanted, std::string_view name) {
  return name.size() > wanted.size() && name.starts_with(wanted) && name[wanted.size()] == '(';
}

// 0 is best; kFar: not similar.
size_t Distance(const std::string& wanted, const std::string& name) {
  if (LacksParameters(wanted, name)) return 0;
  if (Lower(wanted) == Lower(name)) return 1;
  const size_t edits = EditDistance(wanted, name, kMostEdits);
  if (edits <= kMostEdits) return 1 + edits;
  // An inner name: `method` for `ns::Class::method(int)`.
  const size_t at = name.find(StrCat("::", wanted, "("));
  return at != name.npos ? 2 : kFar;
}

}  // namespace

std::vector<std::string> SimilarNames(const ElfFile& elf, const NativePattern& pattern) {
  std::vector<std::string> names;
  if (pattern.file_offset) return names;
  std::set<std::pair<size_t, std::string>> best;
  size_t seen = 0;
  elf.ForEachSymbol([&](const ElfSymbolEntry& symbol) {
    if (!symbol.defined || !symbol.function || ++seen > kMostNames) return;
    std::string name(symbol.name);
    name = Demangle(name).value_or(name);
    const size_t distance = Distance(pattern.symbol, name);
    if (distance == kFar) return;
    best.insert({distance, std::move(name)});
    if (best.size() > kMostSuggestions) best.erase(std::prev(best.end()));
  });
  for (const auto& [distance, name] : best) names.push_back(name);
  return names;
}

}  // namespace sbump
