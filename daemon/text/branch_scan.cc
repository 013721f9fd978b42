#include "daemon/text/branch_scan.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "daemon/text/disassembly.h"

namespace sbump {
namespace {

constexpr size_t kMostInstructionsOfAFrame = 500'000;
// A file in which more look like branches is no compiler's work: the rest counts without a second
// look.
constexpr int kMostLooks = 500;

class Places {
 public:
  explicit Places(std::span<const CodeRange> places) : sorted_(places.begin(), places.end()) {
    std::ranges::sort(sorted_, {}, &CodeRange::start);
    for (const CodeRange& place : sorted_) all_end_ = std::max(all_end_, place.end);
  }
  bool empty() const { return sorted_.empty(); }
  bool Contain(uint64_t vaddr) const {
    if (vaddr < sorted_.front().start || vaddr >= all_end_) return false;
    const auto behind = std::ranges::upper_bound(sorted_, vaddr, {}, &CodeRange::start);
    return std::any_of(sorted_.begin(), behind,
                       [vaddr](const CodeRange& place) { return place.Contains(vaddr); });
  }

 private:
  std::vector<CodeRange> sorted_;
  uint64_t all_end_ = 0;
};

uint8_t At(std::span<const std::byte> text, size_t i) { return static_cast<uint8_t>(text[i]); }

// The branch that begins at text[i], if its bytes are one.
std::optional<PossibleBranch> BranchAt(std::span<const std::byte> text, size_t i, uint64_t vaddr) {
  const auto near = [&](size_t opcode_bytes) -> std::optional<PossibleBranch> {
    int32_t displacement;
    if (text.size() - i < opcode_bytes + sizeof displacement) return std::nullopt;
    std::memcpy(&displacement, text.data() + i + opcode_bytes, sizeof displacement);
    const uint64_t end = vaddr + opcode_bytes + sizeof displacement;
    return PossibleBranch{vaddr, end + static_cast<uint64_t>(int64_t{displacement})};
  };
  const uint8_t opcode = At(text, i);
  if (opcode == 0xE8 || opcode == 0xE9) return near(1);
  if (opcode == 0x0F && i + 1 < text.size() && (At(text, i + 1) & 0xF0) == 0x80) return near(2);
  const bool is_short =
      (opcode & 0xF0) == 0x70 || opcode == 0xEB || (opcode >= 0xE0 && opcode <= 0xE3);
  if (!is_short || i + 1 >= text.size()) return std::nullopt;
  const auto displacement = static_cast<int8_t>(At(text, i + 1));
  return PossibleBranch{vaddr, vaddr + 2 + static_cast<uint64_t>(int64_t{displacement})};
}

// The frame around it, read from its begin, has no instruction that begins there.
bool IsInsideAnInstruction(const ElfFile& elf, uint64_t vaddr) {
  const std::optional<CodeRange> frame = elf.FrameAt(vaddr);
  if (!frame) return false;
  const auto instructions = SweepRange(elf, *frame, kMostInstructionsOfAFrame);
  return instructions && !std::ranges::binary_search(*instructions, vaddr, {}, &Instruction::vaddr);
}

}  // namespace

std::optional<std::vector<Instruction>> SweepRange(const ElfFile& elf, CodeRange range,
                                                   size_t max_instructions) {
  std::vector<Instruction> instructions;
  uint64_t at = range.start;
  while (at < range.end) {
    const std::optional<Instruction> next = Decode(elf, at);
    if (!next || instructions.size() == max_instructions) return std::nullopt;
    instructions.push_back(*next);
    at = next->end();
  }
  if (at != range.end) return std::nullopt;
  return instructions;
}

std::vector<PossibleBranch> BranchesInto(const ElfFile& elf, std::span<const CodeRange> places) {
  const Places wanted(places);
  std::vector<PossibleBranch> found;
  int looks_left = kMostLooks;
  if (wanted.empty()) return found;
  for (const ElfSegment& segment : elf.segments()) {
    if (!segment.executable) continue;
    const auto text = elf.BytesFrom(segment.vaddr, segment.file_size);
    for (size_t i = 0; i < text.size(); ++i) {
      const auto branch = BranchAt(text, i, segment.vaddr + i);
      if (!branch || !wanted.Contain(branch->target)) continue;
      if (looks_left > 0 && (--looks_left, IsInsideAnInstruction(elf, branch->vaddr))) continue;
      found.push_back(*branch);
    }
  }
  std::ranges::sort(found, {}, &PossibleBranch::target);
  return found;
}

}  // namespace sbump
