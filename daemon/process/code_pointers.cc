#include "daemon/process/code_pointers.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace sbump {
namespace {

// A hostile DT_RELR table expands 63 times; CPython 3.14 has about 30,000 relocations, libtorch 2
// million.
constexpr uint64_t kMaxRelocations = 16'000'000;

class Collector {
 public:
  explicit Collector(const ElfImage& image) : image_(image) {}

  // False once there are more than any real file has.
  bool Add(uint64_t place, uint64_t value) {
    if (++seen_ > kMaxRelocations) return false;
    if (image_.IsExecutable(value) && image_.WordAt(place)) found_.push_back({place, value});
    return true;
  }

  std::vector<ElfFile::CodePointer> Take() {
    if (seen_ > kMaxRelocations) return {};
    std::ranges::sort(found_, {}, &ElfFile::CodePointer::place_vaddr);
    return std::move(found_);
  }

 private:
  const ElfImage& image_;
  uint64_t seen_ = 0;
  std::vector<ElfFile::CodePointer> found_;
};

bool AddRela(const ElfImage& image, const DynamicSection& dynamic, Collector& collector) {
  auto bytes = image.BytesFrom(dynamic.rela, dynamic.rela_bytes);
  for (; bytes.size() >= sizeof(Elf64_Rela); bytes = bytes.subspan(sizeof(Elf64_Rela))) {
    Elf64_Rela rela;
    std::memcpy(&rela, bytes.data(), sizeof rela);
    if (ELF64_R_TYPE(rela.r_info) != R_X86_64_RELATIVE) continue;
    if (!collector.Add(rela.r_offset, static_cast<uint64_t>(rela.r_addend))) return false;
  }
  return true;
}

// With DT_RELR the addend stands at the place itself.
bool AddRelrPlace(const ElfImage& image, uint64_t place, Collector& collector) {
  return collector.Add(place, image.WordAt(place).value_or(0));
}

// An even entry is a place; an odd one is a bitmap over the 63 words that follow the last place.
bool AddRelr(const ElfImage& image, const DynamicSection& dynamic, Collector& collector) {
  auto bytes = image.BytesFrom(dynamic.relr, dynamic.relr_bytes);
  uint64_t next = 0;
  for (; bytes.size() >= sizeof(uint64_t); bytes = bytes.subspan(sizeof(uint64_t))) {
    uint64_t entry;
    std::memcpy(&entry, bytes.data(), sizeof entry);
    if ((entry & 1) == 0) {
      if (!AddRelrPlace(image, entry, collector)) return false;
      next = entry + 8;
      continue;
    }
    for (int bit = 1; bit < 64; ++bit) {
      const uint64_t place = next + static_cast<uint64_t>(bit - 1) * 8;
      if ((entry >> bit & 1) != 0 && !AddRelrPlace(image, place, collector)) return false;
    }
    next += uint64_t{63} * 8;
  }
  return true;
}

}  // namespace

std::vector<ElfFile::CodePointer> RelocatedCodePointers(const ElfImage& image,
                                                        const DynamicSection& dynamic) {
  Collector collector(image);
  if (dynamic.rela != 0) AddRela(image, dynamic, collector);
  if (dynamic.relr != 0) AddRelr(image, dynamic, collector);
  return collector.Take();
}

std::vector<ElfFile::CodePointer> FixedCodePointers(const ElfImage& image) {
  std::vector<ElfFile::CodePointer> found;
  for (size_t i = 0; i < image.segments().size(); ++i) {
    const ElfSegment& segment = image.segments()[i];
    if (segment.executable) continue;
    const auto bytes = image.BytesFrom(segment.vaddr, segment.file_size);
    for (uint64_t at = -segment.vaddr % 8; at + 8 <= bytes.size(); at += 8) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      if (image.IsExecutable(word)) found.push_back({segment.vaddr + at, word});
    }
  }
  return found;
}

}  // namespace sbump
