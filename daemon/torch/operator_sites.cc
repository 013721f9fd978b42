#include "daemon/torch/operator_sites.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/native/demangle.h"
#include "daemon/text/control_flow.h"
#include "daemon/text/disassembly.h"

namespace sbump {
namespace {

constexpr size_t kMostOperators = SB_OPERATORS;
constexpr size_t kMostInstructions = 4096;
constexpr size_t kLongestSchema = 4096;
constexpr size_t kMostArrows = 100'000;  // that may be a schema's: torch's have some 10,000

// "softmax_int" of "_ZN2at4_ops11softmax_int4callERKNS_6TensorE...".
std::optional<std::string_view> OperatorName(std::string_view mangled) {
  constexpr std::string_view kBegin = "_ZN2at4_ops", kEnd = "4callE";
  if (!mangled.starts_with(kBegin)) return std::nullopt;
  mangled.remove_prefix(kBegin.size());
  size_t length = 0;
  const auto [digits_end, error] =
      std::from_chars(mangled.data(), mangled.data() + mangled.size(), length);
  if (error != std::errc()) return std::nullopt;
  mangled.remove_prefix(static_cast<size_t>(digits_end - mangled.data()));
  if (length == 0 || length > mangled.size() || !mangled.substr(length).starts_with(kEnd))
    return std::nullopt;
  return mangled.substr(0, length);
}

// ---- Schemas ----

// As the struct in at::_ops is named.
std::string StructName(std::string_view schema_name) {
  std::string name(schema_name);
  std::ranges::replace(name, '.', '_');
  return name;
}

class Schemas {
 public:
  explicit Schemas(const ElfFile& elf) {
    for (const ElfSegment& segment : elf.segments()) {
      if (segment.writable || segment.file_size == 0) continue;
      const auto bytes = elf.BytesFrom(segment.vaddr, segment.file_size);
      Scan({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
  }

  // As they are registered. A string may be the end of a longer one: the linker keeps one of both.
  std::vector<std::string_view> Of(std::string_view operator_name) const {
    const auto [first, last] = registered_.equal_range(std::string(operator_name));
    std::vector<std::string_view> found;
    for (auto it = first; it != last; ++it) found.push_back(it->second);
    if (!found.empty()) return found;
    const auto [other, last_other] = others_.equal_range(std::string(operator_name));
    for (auto it = other; it != last_other; ++it) found.push_back(it->second);
    if (!found.empty()) return found;
    for (const auto& [name, schema] : registered_) {
      if (name.ends_with(operator_name))
        found.push_back(schema.substr(schema.find('(') - operator_name.size()));
    }
    return found;
  }

 private:
  static constexpr std::string_view kArrow = ") -> ";

  void Scan(std::string_view text) {
    size_t at = 0;
    while (arrows_ < kMostArrows && (at = text.find(kArrow, at)) != std::string_view::npos) {
      ++arrows_;
      const size_t from = at > kLongestSchema ? at - kLongestSchema : 0;
      const size_t begin = text.substr(from, at - from).rfind('\0');
      const size_t end = text.substr(at, kLongestSchema).find('\0');
      at += kArrow.size();
      if (begin == std::string_view::npos || end == std::string_view::npos) continue;
      Add(text.substr(from + begin + 1, at - kArrow.size() + end - from - begin - 1));
    }
  }

  void Add(std::string_view schema) {
    const std::string_view name = SchemaName(schema);
    const auto is_of_a_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '.';
    };
    if (name.empty() || name.size() == schema.size() || !std::ranges::all_of(name, is_of_a_name))
      return;
    (name.data() == schema.data() ? registered_ : others_).emplace(StructName(name), schema);
  }

  size_t arrows_ = 0;  // looked at
  // By the struct's name. Others are written with their namespace, for TorchScript, by hand.
  std::multimap<std::string, std::string_view> registered_, others_;
};

// ---- Text ----

absl::Status FindText(const ElfFile& elf, const ElfSymbol& symbol, OperatorSite& site) {
  site.begin_vaddr = symbol.vaddr;
  std::optional<Instruction> first = Decode(elf, site.begin_vaddr);
  if (first && Text(*first) == "endbr64") {
    site.begin_vaddr = first->end();
    first = Decode(elf, site.begin_vaddr);
  }
  if (!first) return absl::UnimplementedError("its text cannot be read");
  if (const auto why = WhyNoProbe(*first)) return absl::UnimplementedError(ToAbsl(*why));
  // What it does where something is thrown lies elsewhere, and leaves without a return.
  const CodeRange body{symbol.vaddr, symbol.vaddr + symbol.size};
  SB_ASSIGN_OR_RETURN(const ReachedCode code,
                      ReachedCode::From(elf, {&site.begin_vaddr, 1}, kMostInstructions, body));
  std::optional<uint64_t> return_vaddr;
  for (const Instruction& instruction : code.instructions()) {
    if (instruction.flow == Flow::kIndirectJump)
      return absl::UnimplementedError("its text jumps to where cannot be told");
    if (instruction.flow != Flow::kReturn) continue;
    if (return_vaddr) return absl::UnimplementedError("it returns at several places");
    return_vaddr = instruction.vaddr;
  }
  if (!return_vaddr) return absl::UnimplementedError("it does not return");
  site.end = ViewOfReturn(elf, code, body, *return_vaddr);
  return absl::OkStatus();
}

absl::StatusOr<OperatorSite> SiteOf(const ElfFile& elf, const Schemas& schemas,
                                    std::string_view name, const std::string& mangled,
                                    const ElfSymbol& symbol) {
  const std::optional<std::string> demangled = Demangle(mangled);
  if (!demangled) return absl::UnimplementedError("its C++ name cannot be read");
  OperatorSite site;
  SB_ASSIGN_OR_RETURN(site.signature, SignatureOf(*demangled, schemas.Of(name)));
  SB_RETURN_IF_ERROR(FindText(elf, symbol, site));
  return site;
}

}  // namespace

absl::StatusOr<OperatorSites> FindOperators(const ElfFile& elf, uint64_t deadline_ns) {
  std::map<uint64_t, std::pair<std::string, ElfSymbol>> functions;
  elf.ForEachSymbol([&](const ElfSymbolEntry& symbol) {
    if (symbol.defined && symbol.function && !symbol.indirect && OperatorName(symbol.name) &&
        functions.size() < kMostOperators) {
      functions.try_emplace(symbol.vaddr, std::string(symbol.name),
                            ElfSymbol{symbol.vaddr, symbol.size});
    }
  });
  if (functions.empty())
    return absl::NotFoundError(StrCat(elf.name(), " has no functions at::_ops::*::call"));
  const Schemas schemas(elf);
  OperatorSites found;
  for (const auto& [vaddr, function] : functions) {
    if (MonotonicNs() > deadline_ns)
      return absl::DeadlineExceededError(
          StrCat(elf.name(), ": its operators take too long to study"));
    const auto& [mangled, symbol] = function;
    const std::string_view name = *OperatorName(mangled);
    absl::StatusOr<OperatorSite> site = SiteOf(elf, schemas, name, mangled, symbol);
    if (site.ok())
      found.sites.push_back(*std::move(site));
    else
      found.left_out.push_back(StrCat(name, ": ", site.status().message()));
  }
  return found;
}

}  // namespace sbump
