#include "daemon/text/control_flow.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Control may reach the instruction behind this one. (A call may not return; what then stands
// behind it is another function's start or padding.)
bool FallsThrough(const Instruction& instruction) {
  switch (instruction.flow) {
    case Flow::kNext:
    case Flow::kConditionalJump:
    case Flow::kCall:
    case Flow::kIndirectCall:
      return true;
    default:
      return false;
  }
}

bool Jumps(const Instruction& instruction) {
  return instruction.flow == Flow::kJump || instruction.flow == Flow::kConditionalJump;
}

}  // namespace

std::vector<Instruction> StraightLine(const ElfFile& elf, uint64_t start, size_t max_instructions) {
  std::vector<Instruction> line;
  uint64_t at = start;
  while (line.size() < max_instructions) {
    const std::optional<Instruction> next = Decode(elf, at);
    if (!next) break;
    line.push_back(*next);
    if (next->flow != Flow::kNext && next->flow != Flow::kJump) break;
    at = next->flow == Flow::kJump ? next->target : next->end();
  }
  return line;
}

absl::StatusOr<ReachedCode> ReachedCode::From(const ElfFile& elf, std::span<const uint64_t> starts,
                                              size_t max_instructions, const CodeRange& within) {
  ReachedCode code;
  std::vector<uint64_t> waiting(starts.begin(), starts.end());
  for (uint64_t start : starts) code.landings_.push_back({start, start});
  std::unordered_set<uint64_t> seen;
  while (!waiting.empty()) {
    const uint64_t at = waiting.back();
    waiting.pop_back();
    if (!within.Contains(at) || !seen.insert(at).second) continue;
    const std::optional<Instruction> next = Decode(elf, at);
    if (!next) continue;
    if (code.instructions_.size() == max_instructions) {
      return absl::UnimplementedError(
          StrCat(elf.name(), ": more than ", max_instructions, " instructions are reached"));
    }
    code.instructions_.push_back(*next);
    const auto reach = [&](uint64_t target) {
      waiting.push_back(target);
      code.landings_.push_back({target, at});
    };
    if (FallsThrough(*next)) reach(next->end());
    if (Jumps(*next)) reach(next->target);
  }
  std::ranges::sort(code.instructions_, {}, &Instruction::vaddr);
  std::ranges::sort(code.landings_, {}, &Landing::target);
  return code;
}

bool ReachedCode::LandsIn(uint64_t first, uint64_t last,
                          std::span<const Instruction> except) const {
  const auto in_line = [&](uint64_t from) {
    return std::ranges::any_of(except, [&](const Instruction& i) { return i.vaddr == from; });
  };
  auto landing = std::ranges::lower_bound(landings_, first, {}, &Landing::target);
  for (; landing != landings_.end() && landing->target <= last; ++landing) {
    if (!in_line(landing->from)) return true;
  }
  return false;
}

bool ReachedCode::EntersInside(std::span<const Instruction> line) const {
  for (size_t i = 0; i < line.size(); ++i) {
    const uint64_t first = i == 0 ? line[i].vaddr + 1 : line[i].vaddr;
    // The jump that the line itself takes to this instruction is no entry from outside; the last
    // one's is.
    if (LandsIn(first, line[i].end() - 1, line.first(line.size() - 1))) return true;
  }
  return false;
}

std::optional<std::vector<Instruction>> ReachedCode::Before(uint64_t vaddr) const {
  std::vector<Instruction> before;
  auto landing = std::ranges::lower_bound(landings_, vaddr, {}, &Landing::target);
  for (; landing != landings_.end() && landing->target == vaddr; ++landing) {
    if (landing->from == vaddr) return std::nullopt;
    before.push_back(
        *std::ranges::lower_bound(instructions_, landing->from, {}, &Instruction::vaddr));
  }
  return before;
}

}  // namespace sbump
