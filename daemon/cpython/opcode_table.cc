#include <algorithm>
#include <bitset>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/sites.h"

namespace sbump {
namespace {

constexpr size_t kOpcodes = 256;
// Every real table has more (183 in 3.11, 212 in 3.13); fewer would be some other array.
constexpr size_t kMinDistinct = 100;

using Pointer = ElfFile::CodePointer;
using Window = std::span<const Pointer, kOpcodes>;

// Opcodes as one question per entry: does the compiler's "unknown opcode" target stand here?
class TableShape {
 public:
  explicit TableShape(std::span<const uint8_t> unused) {
    for (uint8_t opcode : unused) unused_.set(opcode);
    for (size_t i = 0; i < kOpcodes; ++i) order_.push_back(i);
    // The unused ones first: in almost every other array the first two of them already differ.
    std::stable_partition(order_.begin(), order_.end(), [&](size_t i) { return unused_.test(i); });
  }

  bool Fits(Window window) const {
    const uint64_t unknown = window[order_[0]].code_vaddr;
    return std::ranges::all_of(
        order_, [&](size_t i) { return (window[i].code_vaddr == unknown) == unused_.test(i); });
  }

 private:
  std::bitset<kOpcodes> unused_;
  std::vector<size_t> order_;
};

std::vector<uint64_t> Targets(Window window) {
  std::vector<uint64_t> targets;
  for (const Pointer& pointer : window) targets.push_back(pointer.code_vaddr);
  return targets;
}

size_t CountDistinct(std::vector<uint64_t> values) {
  std::ranges::sort(values);
  return static_cast<size_t>(std::unique(values.begin(), values.end()) - values.begin());
}

// Counts adjacent words. Each step is compared: a file may name one place twice, so the ends alone
// prove nothing.
class Runs {
 public:
  // True once the 256 pointers that end with `pointer` are adjacent.
  bool Extend(const Pointer& pointer) {
    length_ =
        length_ > 0 && pointer.place_vaddr == last_place_ + sizeof(uint64_t) ? length_ + 1 : 1;
    last_place_ = pointer.place_vaddr;
    return length_ >= kOpcodes;
  }

 private:
  size_t length_ = 0;
  uint64_t last_place_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<uint64_t>> FindOpcodeTable(const ElfFile& elf, const Layout& layout) {
  const std::span<const uint8_t> unused = UnusedOpcodes(layout.minor);
  if (unused.empty()) {
    return absl::UnimplementedError(
        StrCat(elf.name(), ": the opcodes of CPython 3.", layout.minor, " are not known to sbump"));
  }
  const TableShape shape(unused);
  const std::vector<Pointer> pointers = elf.CodePointers();
  std::optional<std::vector<uint64_t>> found;
  Runs runs;
  for (size_t i = 0; i < pointers.size(); ++i) {
    if (!runs.Extend(pointers[i])) continue;
    const Window window(pointers.data() + (i + 1 - kOpcodes), kOpcodes);
    if (!shape.Fits(window)) continue;
    std::vector<uint64_t> targets = Targets(window);
    if (CountDistinct(targets) < kMinDistinct || targets == found) continue;
    if (found) {
      return absl::UnimplementedError(
          StrCat(elf.name(), ": two different tables look like the opcode table of CPython 3.",
                 layout.minor));
    }
    found = std::move(targets);
  }
  if (found) return *std::move(found);
  return absl::UnimplementedError(StrCat(elf.name(), ": no opcode table of CPython 3.",
                                         layout.minor, " (a build without computed gotos?)"));
}

}  // namespace sbump
