// Code followed as the processor would: from a proven start, along straight lines and direct jumps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/process/elf_file.h"
#include "daemon/text/disassembly.h"

namespace sbump {

// The instructions that are executed, whatever the registers hold, once `start` is: up to and
// including the first one that is a conditional jump, a call, or does not go on to a known place.
// Direct jumps are followed and listed. At most `max_instructions`; ends early at bytes that are no
// instruction.
std::vector<Instruction> StraightLine(const ElfFile& elf, uint64_t start,
                                      size_t max_instructions = 64);

// Everything that is reached from some starts without passing an indirect jump.
class ReachedCode {
 public:
  // kUnimplemented above `max_instructions`. What lies outside `within` is not followed.
  static absl::StatusOr<ReachedCode> From(const ElfFile& elf, std::span<const uint64_t> starts,
                                          size_t max_instructions,
                                          const CodeRange& within = {
                                              0, std::numeric_limits<uint64_t>::max()});

  // In the order of their addresses.
  std::span<const Instruction> instructions() const { return instructions_; }

  // A start, or control from elsewhere than `line` itself, lands inside `line`: on one of its
  // instructions but the first, or in the middle of any. What the line computes is then not proven.
  bool EntersInside(std::span<const Instruction> line) const;

  // Those from which control comes to `vaddr` next. nullopt: it is a start, too.
  std::optional<std::vector<Instruction>> Before(uint64_t vaddr) const;

 private:
  bool LandsIn(uint64_t first, uint64_t last, std::span<const Instruction> except) const;

  struct Landing {
    uint64_t target;
    uint64_t from;  // the instruction that goes there; the start itself for a start
  };
  std::vector<Instruction> instructions_;
  std::vector<Landing> landings_;  // sorted by target
};

}  // namespace sbump
