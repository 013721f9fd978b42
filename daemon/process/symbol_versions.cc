#include "daemon/process/symbol_versions.h"

#include <elf.h>

#include <cstring>

namespace sbump {
namespace {

// glibc has about 40.
constexpr int kMaxDefinitions = 4096;
constexpr uint16_t kHidden = 0x8000;
constexpr uint16_t kFirstNamed = 2;  // 0 is local, 1 is global without a version

template <typename T>
std::optional<T> ReadAs(const ElfImage& image, uint64_t vaddr) {
  const auto bytes = image.BytesFrom(vaddr, sizeof(T));
  if (bytes.size() != sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace

SymbolVersions SymbolVersions::Read(const ElfImage& image, const DynamicSection& dynamic,
                                    uint64_t count) {
  SymbolVersions versions;
  if (dynamic.symbol_versions == 0 || dynamic.version_definitions == 0) return versions;
  const auto bytes = image.BytesFrom(dynamic.symbol_versions, count * sizeof(uint16_t));
  versions.by_symbol_.resize(bytes.size() / sizeof(uint16_t));
  if (!versions.by_symbol_.empty())
    std::memcpy(versions.by_symbol_.data(), bytes.data(),
                versions.by_symbol_.size() * sizeof(uint16_t));
  uint64_t at = dynamic.version_definitions;
  for (int i = 0; i < kMaxDefinitions; ++i) {
    const auto definition = ReadAs<Elf64_Verdef>(image, at);
    if (!definition) break;
    if (const auto name = ReadAs<Elf64_Verdaux>(image, at + definition->vd_aux))
      versions.names_.emplace(definition->vd_ndx, name->vda_name);
    if (definition->vd_next == 0) break;
    at += definition->vd_next;
  }
  return versions;
}

std::optional<SymbolVersions::Version> SymbolVersions::Of(uint64_t symbol) const {
  if (symbol >= by_symbol_.size()) return std::nullopt;
  const uint16_t number = by_symbol_[symbol] & static_cast<uint16_t>(~kHidden);
  const auto name = names_.find(number);
  if (number < kFirstNamed || name == names_.end()) return std::nullopt;
  return Version{.name = name->second, .is_default = (by_symbol_[symbol] & kHidden) == 0};
}

}  // namespace sbump
