#include "daemon/text/entry_site.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "daemon/base/str_cat.h"
#include "daemon/text/branch_scan.h"

namespace sbump {
namespace {

constexpr size_t kMaxLine = 24;
constexpr size_t kMaxBody = 200'000;
constexpr uint64_t kMaxTableEntries = 65'536;
constexpr size_t kMaxTableWords = 20'000'000;

using Line = std::vector<Instruction>;

// From the entry on, one behind the other, up to and including the first that does more than
// compute; the entry alone, where it is as good as can be.
Line LineFrom(const ElfFile& elf, const FunctionText& function) {
  Line line;
  uint64_t at = function.entry;
  while (line.size() < kMaxLine && function.body.Contains(at)) {
    const std::optional<Instruction> next = Decode(elf, at);
    if (!next) break;
    line.push_back(*next);
    if (next->flow != Flow::kNext || !next->only_computes) break;
    if (EmulatedByKernel(*next)) break;
    at = next->end();
  }
  return line;
}

// The function's body, and the parts that it jumps out to: a cold part jumps back.
class Body {
 public:
  Body(const ElfFile& elf, const CodeRange& range) : elf_(elf) {
    readable_ = Add(range);
    std::vector<CodeRange> parts;
    for (const Instruction& instruction : instructions_) {
      const bool jumps =
          instruction.flow == Flow::kJump || instruction.flow == Flow::kConditionalJump;
      if (!jumps || range.Contains(instruction.target)) continue;
      if (const auto part = elf.FrameAt(instruction.target)) parts.push_back(*part);
    }
    // What cannot be read is another function, written by hand: a compiler's cold part can be.
    for (const CodeRange& part : parts) {
      if (!Holds(part.start)) Add(part);
    }
  }

  bool readable() const { return readable_; }
  bool Holds(uint64_t vaddr) const {
    return std::ranges::any_of(ranges_, [vaddr](const CodeRange& r) { return r.Contains(vaddr); });
  }

  // A jump (no call: that is recursion) leads there.
  bool JumpsTo(uint64_t vaddr) const {
    return TableLeadsInto(vaddr, vaddr) ||
           std::ranges::any_of(instructions_, [vaddr](const Instruction& i) {
             return i.target == vaddr &&
                    (i.flow == Flow::kJump || i.flow == Flow::kConditionalJump);
           });
  }

  // A jump table, or a computed goto, of this function may lead into [first, last].
  bool TableLeadsInto(uint64_t first, uint64_t last) const {
    if (!std::ranges::any_of(instructions_, MayUseTable)) return false;
    return std::ranges::any_of(instructions_, [&](const Instruction& instruction) {
      const Operand& from = instruction.operands[1];
      if (instruction.operation != Operation::kAddress || from.reg != kRip) return false;
      const uint64_t base = instruction.end() + static_cast<uint64_t>(from.value);
      return elf_.IsExecutable(base) ? Holds(base) : TableAt(base, first, last);
    });
  }

 private:
  bool Add(const CodeRange& range) {
    const auto more = SweepRange(elf_, range, kMaxBody - std::min(kMaxBody, instructions_.size()));
    if (!more) return false;
    ranges_.push_back(range);
    instructions_.insert(instructions_.end(), more->begin(), more->end());
    return true;
  }

  // `jmp *8(%rax)` without an index is a call through an object; `jmp *%rax` may be either.
  static bool MayUseTable(const Instruction& instruction) {
    if (instruction.flow != Flow::kIndirectJump) return false;
    const Operand& to = instruction.operands[0];
    return to.kind == Operand::Kind::kRegister || to.indexed;
  }

  // Words relative to their table's begin, as compilers write them in position-independent code. It
  // ends, at the latest, where a word leads to no code.
  bool TableAt(uint64_t base, uint64_t first, uint64_t last) const {
    auto bytes = elf_.BytesFrom(base, kMaxTableEntries * sizeof(int32_t));
    for (; bytes.size() >= sizeof(int32_t); bytes = bytes.subspan(sizeof(int32_t))) {
      int32_t word;
      std::memcpy(&word, bytes.data(), sizeof word);
      const uint64_t target = base + static_cast<uint64_t>(int64_t{word});
      if (!elf_.IsExecutable(target)) return false;
      if (words_left_ == 0 || (target >= first && target <= last)) return true;
      --words_left_;
    }
    return false;
  }

  const ElfFile& elf_;
  bool readable_ = false;
  mutable size_t words_left_ = kMaxTableWords;  // then everything counts as led to
  std::vector<CodeRange> ranges_;
  std::vector<Instruction> instructions_;
};

// What leads where in the file, looked up once for all functions.
class Entrances {
 public:
  Entrances(const ElfFile& elf, const std::vector<Line>& lines) {
    std::vector<CodeRange> places;
    for (const Line& line : lines) {
      // Not the entry: that is called from everywhere.
      if (line.size() > 1) places.push_back({line.front().vaddr + 1, line.back().vaddr + 1});
    }
    if (places.empty()) return;
    branches_ = BranchesInto(elf, places);
    for (const ElfFile::CodePointer& pointer : elf.CodePointers())
      pointers_.push_back(pointer.code_vaddr);
    elf.ForEachSymbol([this](const ElfSymbolEntry& symbol) {
      if (symbol.defined) pointers_.push_back(symbol.vaddr);
    });
    std::ranges::sort(pointers_);
  }

  // Anything leads to [first, last].
  bool LeadInto(uint64_t first, uint64_t last) const {
    const auto branch = std::ranges::lower_bound(branches_, first, {}, &PossibleBranch::target);
    const auto pointer = std::ranges::lower_bound(pointers_, first);
    return (branch != branches_.end() && branch->target <= last) ||
           (pointer != pointers_.end() && *pointer <= last);
  }

 private:
  std::vector<PossibleBranch> branches_;
  std::vector<uint64_t> pointers_;
};

constexpr std::string_view kNotAllRead = "its file is large, and not all of it could be read";

absl::Status NoSite(const ElfFile& elf, uint64_t entry, std::string_view why) {
  return absl::FailedPreconditionError(
      StrCat(elf.name(), ": no probe at 0x", absl::Hex(entry), ": ", why));
}

// The instructions that every call passes once; the entry itself is the first of them.
size_t ProvenLength(const Line& line, const Body& body, const Entrances& entrances) {
  size_t proven = 1;
  while (proven < line.size()) {
    const uint64_t first = line.front().vaddr + 1, last = line[proven].vaddr;
    if (entrances.LeadInto(first, last) || body.TableLeadsInto(first, last)) break;
    ++proven;
  }
  return proven;
}

absl::StatusOr<EntrySite> ChooseSite(const ElfFile& elf, const FunctionText& function,
                                     const Line& line, const Entrances& entrances) {
  const Body body(elf, function.body);
  if (line.empty() || !body.readable())
    return NoSite(elf, function.entry, "its code cannot be read from its begin to its end");
  if (body.JumpsTo(function.entry)) {
    return NoSite(elf, function.entry,
                  "its code jumps back to its entry, so that a pass there is not always a call; "
                  "probe one of its instructions, as PATH+0xOFFSET");
  }
  const auto candidates = std::span(line).first(ProvenLength(line, body, entrances));
  std::optional<EntrySite> best;
  std::string_view why;
  for (const Instruction& instruction : candidates) {
    if (const auto objection = WhyNoProbe(instruction)) {
      why = *objection;
      continue;
    }
    if (EmulatedByKernel(instruction)) return EntrySite{instruction, true};
    if (!best) best = EntrySite{instruction, false};
  }
  if (!best) return NoSite(elf, function.entry, why);
  return *best;
}

}  // namespace

std::vector<absl::StatusOr<EntrySite>> FindEntrySites(const ElfFile& elf,
                                                      std::span<const FunctionText> functions) {
  std::vector<Line> lines;
  for (const FunctionText& function : functions) lines.push_back(LineFrom(elf, function));
  const Entrances entrances(elf, lines);
  std::vector<absl::StatusOr<EntrySite>> sites;
  for (size_t i = 0; i < functions.size(); ++i)
    sites.push_back(ChooseSite(elf, functions[i], lines[i], entrances));
  for (size_t i = 0; elf.was_unreadable() && i < sites.size(); ++i)
    sites[i] = NoSite(elf, functions[i].entry, kNotAllRead);
  return sites;
}

absl::Status CheckBoundary(const ElfFile& elf, uint64_t vaddr, std::span<const uint64_t> starts) {
  constexpr uint64_t kMostBytes = 4 << 20;
  if (elf.was_unreadable()) return NoSite(elf, vaddr, kNotAllRead);
  for (uint64_t start : starts) {
    if (vaddr - start > kMostBytes) return NoSite(elf, vaddr, "its function is too large to read");
    uint64_t at = start;
    while (at < vaddr) {
      const std::optional<Instruction> next = Decode(elf, at);
      if (!next) return NoSite(elf, vaddr, "what stands before it is no code");
      if (next->end() > vaddr) {
        return NoSite(elf, vaddr,
                      StrCat("it is in the middle of an instruction, ", Text(*next), " at 0x",
                             absl::Hex(next->vaddr)));
      }
      at = next->end();
    }
  }
  return absl::OkStatus();
}

}  // namespace sbump
