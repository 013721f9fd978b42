#include "daemon/text/return_sites.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "daemon/base/str_cat.h"
#include "daemon/text/control_flow.h"
#include "daemon/text/stack_instructions.h"

namespace sbump {
namespace {

constexpr size_t kMostInstructions = 3000;
constexpr size_t kMostStates = 100'000;
constexpr RegisterNumber kRax = 0, kRbp = 5;
// System V ABI, AMD64: a function that is called may change all but rbx, rsp, rbp, r12 to r15.
constexpr RegisterNumber kChangedByCalls[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};

// A register, or 8 bytes of the frame by their distance from the stack pointer at the entry.
class Place {
 public:
  static Place Register(RegisterNumber reg) { return Place(reg); }
  static Place Slot(int64_t offset) { return Place(kSlots + offset); }
  std::optional<RegisterNumber> reg() const {
    return key_ < kRegisterCount ? std::optional(static_cast<RegisterNumber>(key_)) : std::nullopt;
  }
  auto operator<=>(const Place&) const = default;

 private:
  static constexpr int64_t kSlots = int64_t{1} << 40;
  explicit Place(int64_t key) : key_(key) {}
  int64_t key_;
};
using Places = std::set<Place>;

bool IsCall(const Instruction& instruction) {
  return instruction.flow == Flow::kCall || instruction.flow == Flow::kIndirectCall;
}
bool IsWholeRegister(const Operand& operand) {
  return IsRegister(operand, 64) && operand.reg >= 0 && operand.reg < kRegisterCount;
}

// %rsp less what it was at the entry; %rbp likewise where it is a frame pointer.
struct Frame {
  int64_t stack = 0;
  std::optional<int64_t> base;

  bool operator==(const Frame&) const = default;
};

struct Node {
  Instruction instruction;
  std::vector<size_t> next;
  int comes_from = 0;            // so many others go on here
  std::optional<Frame> frame;    // nothing: not reached yet
  std::optional<Places> places;  // of the value that will be returned; nothing: no return follows
};

class Search {
 public:
  Search(const ElfFile& elf, uint64_t entry) : elf_(elf), entry_(entry) {}
  absl::StatusOr<std::vector<ReturnSite>> Run();

 private:
  absl::Status Build();
  absl::Status LayFrames();
  absl::StatusOr<Frame> After(const Node& node) const;
  std::optional<Place> PlaceOf(const Node& node, const Operand& operand) const;
  void FindPlaces();
  std::optional<Places> PlacesAfter(const Node& node) const;
  // What is copied, and whereto. Nothing `from`: something else is written there.
  struct Move {
    std::optional<Place> from, to;
  };
  Move MoveOf(const Node& node) const;
  void EraseWritten(const Node& node, Places& places) const;
  Places Before(const Node& node, Places after) const;
  Places Behind(const Node& node, const Places& places) const;
  std::optional<RegisterNumber> ResultAt(const Node& node) const;
  std::optional<size_t> NullSide(size_t branch, const Places& places) const;
  absl::Status CollectSites();
  absl::Status CollectFrom(size_t call);
  std::optional<size_t> FindEarlier() const;
  bool LeaveOutEarlier();
  absl::Status Refused(std::string_view why, uint64_t vaddr) const {
    return absl::UnimplementedError(StrCat(elf_.name(), ": the returns of the function at 0x",
                                           absl::Hex(entry_), " cannot be followed: ", why, " (0x",
                                           absl::Hex(vaddr), ")"));
  }

  const ElfFile& elf_;
  const uint64_t entry_;
  std::vector<Node> nodes_;
  std::map<uint64_t, size_t> index_;
  std::set<size_t> sites_, left_out_;
};

absl::Status Search::Build() {
  SB_ASSIGN_OR_RETURN(const ReachedCode code,
                      ReachedCode::From(elf_, {&entry_, 1}, kMostInstructions));
  for (const Instruction& instruction : code.instructions()) {
    index_[instruction.vaddr] = nodes_.size();
    nodes_.push_back({.instruction = instruction});
  }
  for (Node& node : nodes_) {
    const Instruction& instruction = node.instruction;
    std::vector<uint64_t> next;
    if (instruction.flow == Flow::kIndirectJump)
      return Refused("it jumps to an address that it computes", instruction.vaddr);
    if (instruction.flow == Flow::kJump || instruction.flow == Flow::kConditionalJump)
      next.push_back(instruction.target);
    if (instruction.flow == Flow::kNext || instruction.flow == Flow::kConditionalJump ||
        IsCall(instruction))
      next.push_back(instruction.end());
    for (uint64_t vaddr : next) {
      // Behind a call that does not return may be anything.
      if (const auto found = index_.find(vaddr); found != index_.end()) {
        node.next.push_back(found->second);
        ++nodes_[found->second].comes_from;
      }
    }
  }
  return absl::OkStatus();
}

// ---- Forward: where the stack pointer is ----

absl::StatusOr<Frame> Search::After(const Node& node) const {
  const Instruction& instruction = node.instruction;
  Frame frame = *node.frame;
  if (IsPush(instruction)) {
    frame.stack -= 8;
  } else if (IsLeave(instruction)) {
    if (!frame.base) return Refused("its frame pointer is not known", instruction.vaddr);
    frame = {.stack = *frame.base + 8};
  } else if (const std::optional<int64_t> step = StackStep(instruction)) {
    frame.stack += *step;
  } else if (IsPop(instruction)) {
    frame.stack += 8;
    if (OfPushOrPop(instruction) == kRbp) frame.base.reset();
  } else if (instruction.Writes(kRsp)) {
    return Refused("it changes its stack pointer in another way", instruction.vaddr);
  } else if (instruction.Writes(kRbp)) {
    const bool takes_stack = instruction.operation == Operation::kMove &&
                             IsWholeRegister(instruction.operands[1]) &&
                             instruction.operands[1].reg == kRsp;
    frame.base = takes_stack ? std::optional(frame.stack) : std::nullopt;
  }
  return frame;
}

absl::Status Search::LayFrames() {
  std::vector<size_t> todo = {index_.at(entry_)};
  nodes_[todo.front()].frame = Frame{};
  while (!todo.empty()) {
    const Node& node = nodes_[todo.back()];
    todo.pop_back();
    if (node.next.empty()) continue;
    // A push of the kernel's or of a call is undone by its return.
    SB_ASSIGN_OR_RETURN(const Frame after, IsCall(node.instruction)
                                               ? absl::StatusOr<Frame>(*node.frame)
                                               : After(node));
    for (size_t next : node.next) {
      std::optional<Frame>& known = nodes_[next].frame;
      if (!known) {
        known = after;
        todo.push_back(next);
      } else if (known->stack != after.stack) {
        return Refused("it is reached with different stacks", nodes_[next].instruction.vaddr);
      } else if (known->base && known->base != after.base) {
        known->base.reset();
        todo.push_back(next);
      }
    }
  }
  return absl::OkStatus();
}

// ---- Backward: what will be returned, and where it is until then ----

std::optional<Place> Search::PlaceOf(const Node& node, const Operand& operand) const {
  if (IsWholeRegister(operand)) return Place::Register(operand.reg);
  if (operand.kind != Operand::Kind::kMemory || operand.bits != 64 || operand.indexed ||
      !node.frame)
    return std::nullopt;
  if (operand.reg == kRsp) return Place::Slot(node.frame->stack + operand.value);
  if (operand.reg == kRbp && node.frame->base)
    return Place::Slot(*node.frame->base + operand.value);
  return std::nullopt;
}

Search::Move Search::MoveOf(const Node& node) const {
  const Instruction& instruction = node.instruction;
  if (IsPush(instruction) && node.frame) {
    return {.from = Place::Register(OfPushOrPop(instruction)),
            .to = Place::Slot(node.frame->stack - 8)};
  }
  if (IsPop(instruction) && node.frame) {
    return {.from = Place::Slot(node.frame->stack),
            .to = Place::Register(OfPushOrPop(instruction))};
  }
  if (instruction.operation == Operation::kMove) {
    return {.from = PlaceOf(node, instruction.operands[1]),
            .to = PlaceOf(node, instruction.operands[0])};
  }
  // Something is computed there.
  if (instruction.operation == Operation::kCompare || instruction.operation == Operation::kTest)
    return {};
  const std::optional<Place> to = PlaceOf(node, instruction.operands[0]);
  return {.to = to && !to->reg() ? to : std::nullopt};
}

void Search::EraseWritten(const Node& node, Places& places) const {
  for (RegisterNumber reg = 0; reg < kRegisterCount; ++reg) {
    if (node.instruction.Writes(reg)) places.erase(Place::Register(reg));
  }
  if (!IsCall(node.instruction)) return;
  for (RegisterNumber reg : kChangedByCalls) places.erase(Place::Register(reg));
}

// Where the value is before the instruction, if it is in each of `after` behind it.
Places Search::Before(const Node& node, Places after) const {
  const Move move = MoveOf(node);
  const bool moved = move.to && move.from && after.contains(*move.to);
  if (move.to) after.erase(*move.to);
  EraseWritten(node, after);
  if (moved) after.insert(*move.from);
  return after;
}

std::optional<Places> Search::PlacesAfter(const Node& node) const {
  if (node.instruction.flow == Flow::kReturn) return Places{Place::Register(kRax)};
  std::optional<Places> all;
  for (size_t next : node.next) {
    const std::optional<Places>& places = nodes_[next].places;
    if (!places) continue;
    if (!all) {
      all = places;
    } else {
      std::erase_if(*all, [&](const Place& place) { return !places->contains(place); });
    }
  }
  return all;
}

// To the greatest solution: what no return is known to follow may be anywhere.
void Search::FindPlaces() {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = nodes_.size(); i-- > 0;) {
      const std::optional<Places> after = PlacesAfter(nodes_[i]);
      if (!after) continue;
      // A return takes its value from rax, and changes nothing else.
      Places before =
          nodes_[i].instruction.flow == Flow::kReturn ? *after : Before(nodes_[i], *after);
      if (nodes_[i].places == before) continue;
      nodes_[i].places = std::move(before);
      changed = true;
    }
  }
}

// ---- The sites ----

std::optional<RegisterNumber> Search::ResultAt(const Node& node) const {
  if (node.instruction.flow != Flow::kConditionalJump || !EmulatedByKernel(node.instruction) ||
      !node.places)
    return std::nullopt;
  for (const Place& place : *node.places) {
    if (place.reg()) return place.reg();
  }
  return std::nullopt;
}

// Where the value is behind the instruction, if it is in each of `places` before it.
Places Search::Behind(const Node& node, const Places& places) const {
  const Move move = MoveOf(node);
  Places behind = places;
  EraseWritten(node, behind);
  if (move.to) behind.erase(*move.to);
  if (move.to && move.from && places.contains(*move.from)) behind.insert(*move.to);
  return behind;
}

// Of a branch by whether a value is null: the side on which it is.
std::optional<size_t> Search::NullSide(size_t branch, const Places& places) const {
  const Instruction& jump = nodes_[branch].instruction;
  if (branch == 0 || nodes_[branch].next.size() != 2 || nodes_[branch].comes_from != 1)
    return std::nullopt;
  const Instruction& test = nodes_[branch - 1].instruction;
  const bool tests = test.end() == jump.vaddr && test.operation == Operation::kTest &&
                     IsWholeRegister(test.operands[0]) && IsWholeRegister(test.operands[1]) &&
                     test.operands[0].reg == test.operands[1].reg;
  if (!tests || !places.contains(Place::Register(test.operands[0].reg))) return std::nullopt;
  // As Build() has them: the target, then what follows.
  if (jump.condition == Condition::kEqual) return nodes_[branch].next[0];
  if (jump.condition == Condition::kNotEqual) return nodes_[branch].next[1];
  return std::nullopt;
}

// The first on each way on which the call's result is the one that will be returned. A null may be
// returned past them: the error of a lookup, before anything was called.
absl::Status Search::CollectFrom(size_t call) {
  struct State {
    size_t at;
    Places places;
    bool is_null;
    auto operator<=>(const State&) const = default;
  };
  std::vector<State> todo;
  for (size_t next : nodes_[call].next) todo.push_back({next, {Place::Register(kRax)}, false});
  std::set<State> seen;
  while (!todo.empty()) {
    const State state = std::move(todo.back());
    todo.pop_back();
    if (state.places.empty() || !seen.insert(state).second) continue;
    if (seen.size() > kMostStates) return Refused("it has too many ways", entry_);
    const Node& node = nodes_[state.at];
    const std::optional<RegisterNumber> result = ResultAt(node);
    if (result && state.places.contains(Place::Register(*result)) &&
        !left_out_.contains(state.at)) {
      sites_.insert(state.at);
      continue;
    }
    if (node.instruction.flow == Flow::kReturn) {
      if (state.is_null || !state.places.contains(Place::Register(kRax))) continue;
      return Refused("a result is returned past every place where it could be seen",
                     nodes_[call].instruction.vaddr);
    }
    const Places behind = Behind(node, state.places);
    const std::optional<size_t> null_side = NullSide(state.at, state.places);
    for (size_t next : node.next)
      todo.push_back({next, behind, state.is_null || null_side == next});
  }
  return absl::OkStatus();
}

absl::Status Search::CollectSites() {
  sites_.clear();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (IsCall(nodes_[i].instruction) && nodes_[i].frame) SB_RETURN_IF_ERROR(CollectFrom(i));
  }
  if (sites_.empty()) return Refused("it returns no result of a call", entry_);
  return absl::OkStatus();
}

// A site from which a way leads to a site: the earlier one is of no use then.
std::optional<size_t> Search::FindEarlier() const {
  for (size_t site : sites_) {
    std::vector<size_t> todo = nodes_[site].next;
    std::set<size_t> seen;
    while (!todo.empty()) {
      const size_t at = todo.back();
      todo.pop_back();
      if (!seen.insert(at).second) continue;
      if (sites_.contains(at)) return site;
      todo.insert(todo.end(), nodes_[at].next.begin(), nodes_[at].next.end());
    }
  }
  return std::nullopt;
}

bool Search::LeaveOutEarlier() {
  const std::optional<size_t> earlier = FindEarlier();
  if (earlier) left_out_.insert(*earlier);
  return earlier.has_value();
}

absl::StatusOr<std::vector<ReturnSite>> Search::Run() {
  SB_RETURN_IF_ERROR(Build());
  SB_RETURN_IF_ERROR(LayFrames());
  FindPlaces();
  do {
    SB_RETURN_IF_ERROR(CollectSites());
  } while (LeaveOutEarlier());
  std::vector<ReturnSite> sites;
  for (size_t site : sites_) {
    const Node& node = nodes_[site];
    sites.push_back({.vaddr = node.instruction.vaddr,
                     .result = *ResultAt(node),
                     .stack_bytes = static_cast<uint64_t>(-node.frame->stack)});
  }
  return sites;
}

}  // namespace

absl::StatusOr<std::vector<ReturnSite>> FindReturnSites(const ElfFile& elf, uint64_t function) {
  return Search(elf, function).Run();
}

}  // namespace sbump
