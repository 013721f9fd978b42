#include "daemon/process/symbol_table.h"

#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace sbump {
namespace {

// libtorch has about a million; an interpreter with .symtab, 30,000.
constexpr uint64_t kMaxSymbols = 8'000'000;
constexpr size_t kMaxNameBytes = 4096;
constexpr uint64_t kMaxSectionBytes = uint64_t{128} << 20;  // then as if it were stripped

template <typename T>
std::optional<T> ReadAs(const ElfImage& image, uint64_t vaddr) {
  const auto bytes = image.BytesFrom(vaddr, sizeof(T));
  if (bytes.size() != sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// DT_GNU_HASH does not say how many symbols there are: it is one past the end of the chain that
// starts last.
uint64_t CountByGnuHash(const ElfImage& image, uint64_t table) {
  struct Header {
    uint32_t bucket_count, first_symbol, bloom_words, bloom_shift;
  };
  const auto header = ReadAs<Header>(image, table);
  if (!header) return 0;
  const uint64_t buckets = table + sizeof(Header) + uint64_t{header->bloom_words} * 8;
  const uint64_t chains = buckets + uint64_t{header->bucket_count} * 4;
  auto words = image.BytesFrom(buckets, uint64_t{header->bucket_count} * 4);
  uint32_t last = 0;
  for (; words.size() >= 4; words = words.subspan(4)) {
    uint32_t bucket;
    std::memcpy(&bucket, words.data(), sizeof bucket);
    last = std::max(last, bucket);
  }
  if (last < header->first_symbol) return header->first_symbol;
  for (uint64_t symbol = last; symbol < kMaxSymbols; ++symbol) {
    const auto hash = ReadAs<uint32_t>(image, chains + (symbol - header->first_symbol) * 4);
    if (!hash) return 0;
    if (*hash & 1) return symbol + 1;
  }
  return 0;
}

uint64_t CountBySysvHash(const ElfImage& image, uint64_t table) {
  return ReadAs<uint32_t>(image, table + 4).value_or(0);  // nchain
}

bool NamesAPlace(const Elf64_Sym& sym) {
  const int type = ELF64_ST_TYPE(sym.st_info);
  return type != STT_TLS && type != STT_FILE && type != STT_SECTION;
}

bool HasAddress(const Elf64_Sym& sym) { return sym.st_shndx != SHN_UNDEF && NamesAPlace(sym); }

// Linkers write versions into the names of a static table too: `write@@GLIBC_2.2.5`.
void SplitVersion(ElfSymbolEntry& entry) {
  const size_t at = entry.name.find('@', 1);
  if (at == entry.name.npos) return;
  const size_t begin = entry.name.find_first_not_of('@', at);
  if (begin == entry.name.npos) return;
  entry.version = entry.name.substr(begin);
  entry.default_version = begin - at == 2;
  entry.name = entry.name.substr(0, at);
}

Elf64_Sym SymbolAt(std::span<const std::byte> symbols, uint64_t index) {
  Elf64_Sym sym;
  std::memcpy(&sym, symbols.data() + index * sizeof sym, sizeof sym);
  return sym;
}

std::string_view NameAt(std::span<const std::byte> strings, uint32_t offset) {
  if (offset >= strings.size()) return {};
  const auto* first = reinterpret_cast<const char*>(strings.data()) + offset;
  const size_t limit = std::min(strings.size() - offset, kMaxNameBytes);
  const size_t size = strnlen(first, limit);
  return size == limit ? std::string_view() : std::string_view(first, size);
}

std::span<const std::byte> SectionBytes(Elf_Scn* section) {
  GElf_Shdr header;
  if (section == nullptr || gelf_getshdr(section, &header) == nullptr ||
      header.sh_size > kMaxSectionBytes) {
    return {};
  }
  const Elf_Data* data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const std::byte*>(data->d_buf), data->d_size};
}

}  // namespace

void SymbolTable::AddDynamic(const ElfImage& image, const DynamicSection& dynamic) {
  if (dynamic.symbol_table == 0 || dynamic.string_table == 0) return;
  const uint64_t count = dynamic.gnu_hash != 0    ? CountByGnuHash(image, dynamic.gnu_hash)
                         : dynamic.sysv_hash != 0 ? CountBySysvHash(image, dynamic.sysv_hash)
                                                  : 0;
  Add(image.BytesFrom(dynamic.symbol_table, count * sizeof(Elf64_Sym)),
      image.BytesFrom(dynamic.string_table, dynamic.string_table_bytes),
      SymbolVersions::Read(image, dynamic, count));
}

void SymbolTable::AddStatic(Elf* elf) {
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) return;
    if (header.sh_type != SHT_SYMTAB) continue;
    Add(SectionBytes(section), SectionBytes(elf_getscn(elf, header.sh_link)), {});
    return;
  }
}

void SymbolTable::Add(std::span<const std::byte> symbols, std::span<const std::byte> strings,
                      SymbolVersions versions) {
  const uint64_t count = std::min<uint64_t>(symbols.size() / sizeof(Elf64_Sym), kMaxSymbols);
  symbols = symbols.first(count * sizeof(Elf64_Sym));
  const Table& table = tables_.emplace_back(Table{.symbols = {symbols.begin(), symbols.end()},
                                                  .strings = {strings.begin(), strings.end()},
                                                  .versions = std::move(versions)});
  for (uint64_t i = 0; i < count; ++i) {
    const Elf64_Sym sym = SymbolAt(table.symbols, i);
    const std::string_view name = NameAt(table.strings, sym.st_name);
    if (name.empty() || !HasAddress(sym)) continue;
    Merge(name, {.symbol = {.vaddr = sym.st_value, .size = sym.st_size},
                 .global = ELF64_ST_BIND(sym.st_info) != STB_LOCAL});
  }
}

void SymbolTable::Merge(std::string_view name, const Entry& entry) {
  const auto [place, inserted] = by_name_.emplace(name, entry);
  Entry& known = place->second;
  if (inserted || known.global) return;
  if (entry.global) {
    known = entry;
  } else if (known.symbol.vaddr != entry.symbol.vaddr) {
    known.ambiguous = true;
  }
}

void SymbolTable::ForEach(const std::function<void(const ElfSymbolEntry&)>& visit) const {
  for (const Table& table : tables_) {
    const uint64_t count = table.symbols.size() / sizeof(Elf64_Sym);
    for (uint64_t i = 0; i < count; ++i) {
      const Elf64_Sym sym = SymbolAt(table.symbols, i);
      const int type = ELF64_ST_TYPE(sym.st_info);
      ElfSymbolEntry entry{.name = NameAt(table.strings, sym.st_name),
                           .vaddr = sym.st_value,
                           .size = sym.st_size,
                           .defined = sym.st_shndx != SHN_UNDEF,
                           .function = type == STT_FUNC || type == STT_GNU_IFUNC,
                           .indirect = type == STT_GNU_IFUNC};
      if (entry.name.empty() || !NamesAPlace(sym)) continue;
      SplitVersion(entry);
      if (const auto version = table.versions.Of(i); version && entry.defined) {
        entry.version = NameAt(table.strings, version->name);
        entry.default_version = version->is_default;
      }
      visit(entry);
    }
  }
}

std::optional<ElfSymbol> SymbolTable::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end() || found->second.ambiguous) return std::nullopt;
  return found->second.symbol;
}

}  // namespace sbump
