// CPython 3.8 to 3.10: if (co->co_opcache_flag < OPCACHE_MIN_RUNS) { co->co_opcache_flag++;
// if (co->co_opcache_flag == OPCACHE_MIN_RUNS) ... } (Python/ceval.c, _PyEval_EvalFrameDefault,
// v3.8.18).
#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "daemon/cpython/site_finders.h"
#include "daemon/cpython/straight_line.h"

namespace sbump {
namespace {

// Compilers keep increment, store, compare and branch together: 4 instructions in every build seen.
constexpr size_t kMaxBefore = 4;
constexpr size_t kMaxAfter = 5;
// The load of the counter stands a few instructions before that, behind a compare and a jump.
constexpr size_t kMaxCounting = 32;

bool StoresFlag(const Instruction& instruction, const Layout& layout) {
  return instruction.operation == Operation::kMove &&
         IsField(instruction.operands[0], layout.code.co_opcache_flag, 32) &&
         IsRegister(instruction.operands[1], 32);
}

bool Increments(const Instruction& instruction, RegisterNumber reg) {
  const Operand& to = instruction.operands[0];
  const Operand& by = instruction.operands[1];
  if (!IsRegister(to, 32) || to.reg != reg) return false;
  switch (instruction.operation) {
    case Operation::kIncrement:
      return true;
    case Operation::kAdd:
      return by.kind == Operand::Kind::kImmediate && by.value == 1;
    case Operation::kAddress:
      return by.kind == Operand::Kind::kMemory && by.value == 1 && !by.indexed;
    default:
      return false;
  }
}

bool Names(const Instruction& instruction, RegisterNumber reg) {
  return std::ranges::any_of(instruction.operands, [&](const Operand& operand) {
    return IsRegister(operand, 32) && operand.reg == reg;
  });
}

// From the increment to the branch, in the order of the addresses; empty when the store is not that
// of an increment.
std::vector<Instruction> BlockAround(const ElfFile& elf, std::span<const Instruction> code,
                                     size_t store) {
  const RegisterNumber value = code[store].operands[1].reg;
  size_t first = store;
  do {
    if (first == 0 || store - first == kMaxBefore) return {};
    --first;
    if (code[first].end() != code[first + 1].vaddr || code[first].flow != Flow::kNext) return {};
  } while (!code[first].Writes(value));
  if (!Increments(code[first], value)) return {};
  return StraightLine(elf, code[first].vaddr, store - first + 1 + kMaxAfter);
}

// The branch decides on a compare of the value just stored; `store` is its index in the block.
bool DecidesOnStoredValue(Line block, size_t store) {
  const auto compare = LastFlagWriteBefore(block, block.size() - 1);
  if (!compare || block[*compare].operation != Operation::kCompare) return false;
  const RegisterNumber value = block[store].operands[1].reg;
  return Names(block[*compare], value) && !WrittenWithin(block, value, 1, block.size());
}

bool LoadsFlag(const Instruction& instruction, RegisterNumber reg, const Layout& layout) {
  return instruction.operation == Operation::kMove && IsRegister(instruction.operands[0], 32) &&
         instruction.operands[0].reg == reg &&
         IsField(instruction.operands[1], layout.code.co_opcache_flag, 32);
}

// Of the increment: where the old value is.
RegisterNumber CounterRegister(const Instruction& increment) {
  return increment.operation == Operation::kAddress ? increment.operands[1].reg
                                                    : increment.operands[0].reg;
}

// HitSite::counting; empty where some way to the increment does not come from a load of the field.
std::vector<uint64_t> CountingBetweenLoadAndStore(Line up_to_store, const Layout& layout,
                                                  const ReachedCode& loop) {
  const RegisterNumber counter = CounterRegister(up_to_store.front());
  std::set<uint64_t> counting;
  for (const Instruction& instruction : up_to_store) counting.insert(instruction.vaddr);
  std::vector<uint64_t> waiting = {up_to_store.front().vaddr};
  while (!waiting.empty()) {
    const std::optional<std::vector<Instruction>> before = loop.Before(waiting.back());
    waiting.pop_back();
    if (!before || before->empty()) return {};
    for (const Instruction& instruction : *before) {
      if (LoadsFlag(instruction, counter, layout)) continue;
      const bool stays = !instruction.Writes(counter) && instruction.flow != Flow::kCall &&
                         instruction.flow != Flow::kIndirectCall;
      if (!stays || counting.size() == kMaxCounting) return {};
      if (counting.insert(instruction.vaddr).second) waiting.push_back(instruction.vaddr);
    }
  }
  return {counting.begin(), counting.end()};
}

absl::StatusOr<HitSite> CheckedSite(const ElfFile& elf, Line block, size_t store,
                                    const Layout& layout, const ReachedCode& loop) {
  const uint64_t at = block.front().vaddr;
  if (!EndsInEqualBranch(block) || !DecidesOnStoredValue(block, store)) {
    return NotProven(elf, at, "no je or jne on the value of co_opcache_flag follows its store");
  }
  if (!EmulatedByKernel(block.back())) {
    return NotProven(elf, at, "the kernel would single-step the branch after the store");
  }
  const RegisterNumber code = block[store].operands[0].reg;
  if (WrittenWithin(block, code, store, block.size())) {
    return NotProven(elf, at, "the code object's register changes before the branch");
  }
  if (loop.EntersInside(block)) {
    return NotProven(elf, at, "other code jumps between the increment and the branch");
  }
  std::vector<uint64_t> counting =
      CountingBetweenLoadAndStore(block.first(store + 1), layout, loop);
  if (counting.empty()) {
    return NotProven(elf, at, "where co_opcache_flag is read for the increment is not clear");
  }
  return HitSite{.vaddr = block.back().vaddr, .code = code, .counting = std::move(counting)};
}

}  // namespace

absl::StatusOr<HitSite> FindOpcacheSite(const ElfFile& elf, const Layout& layout,
                                        const ReachedCode& loop) {
  const std::span<const Instruction> code = loop.instructions();
  std::vector<Instruction> block;
  size_t store_in_block = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    if (!StoresFlag(code[i], layout)) continue;
    std::vector<Instruction> candidate = BlockAround(elf, code, i);
    if (candidate.empty()) continue;
    if (!block.empty()) {
      return NotProven(elf, code[i].vaddr, "co_opcache_flag seems to be incremented in two places");
    }
    block = std::move(candidate);
    const auto at_store = std::ranges::find(block, code[i].vaddr, &Instruction::vaddr);
    store_in_block = static_cast<size_t>(at_store - block.begin());
  }
  if (block.empty()) {
    const uint64_t start = code.empty() ? 0 : code.front().vaddr;
    return NotProven(elf, start, "nothing increments co_opcache_flag in the interpreter loop");
  }
  return CheckedSite(elf, block, store_in_block, layout, loop);
}

}  // namespace sbump
