#include "daemon/cpython/heap_walk.h"

#include <array>
#include <unordered_map>
#include <unordered_set>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/cpython/interpreter_state.h"
#include "daemon/cpython/qualname.h"
#include "daemon/cpython/unicode.h"

namespace sbump {
namespace {

constexpr uint64_t kMaxObjects = 50'000'000;
constexpr int kMaxNesting = 50;
constexpr int kGenerations = 3;
constexpr size_t kLargestFunction = 160;
constexpr uint64_t kReadsBetweenClockReads = 32;

// Fails once `deadline_ns` has passed: whatever the target's memory leads to ends then.
class TimedReader : public MemoryReader {
 public:
  TimedReader(const MemoryReader& source, uint64_t deadline_ns)
      : source_(source), deadline_ns_(deadline_ns) {}

  absl::Status Read(RemoteAddr addr, std::span<std::byte> out) const override {
    if (reads_++ % kReadsBetweenClockReads == 0 && MonotonicNs() >= deadline_ns_) over_ = true;
    if (!over_) return source_.Read(addr, out);
    return absl::DeadlineExceededError(
        "the walk reached the longest time that the process may be stopped (--max-stop)");
  }
  bool over() const { return over_; }

 private:
  const MemoryReader& source_;
  const uint64_t deadline_ns_;
  mutable uint64_t reads_ = 0;
  mutable bool over_ = false;
};

struct GcHead {
  RemoteAddr next;  // low bits of both words are flags (Include/internal/pycore_gc.h)
  RemoteAddr prev;
};

class Walker {
 public:
  Walker(const MemoryReader& memory, const Interpreter& interpreter, uint64_t deadline_ns)
      : memory_(memory, deadline_ns),
        untimed_memory_(memory),
        interpreter_(interpreter),
        layout_(interpreter.layout()) {}

  absl::StatusOr<HeapWalk> Run();

 private:
  struct GcLists {
    std::vector<RemoteAddr> heads;
    RemoteAddr collecting;
  };
  absl::StatusOr<std::vector<GcLists>> FindLists() const;
  absl::Status WalkList(RemoteAddr head);
  void VisitFunction(RemoteAddr function);
  void VisitCode(RemoteAddr addr, const CodeObject* parent, const std::string* function_qualname,
                 int depth);
  void VisitNested(size_t index, int depth);
  void ImproveName(CodeObject& code, const CodeObject* parent,
                   const std::string* function_qualname);
  absl::StatusOr<CodeObject> ReadCode(RemoteAddr addr);
  absl::StatusOr<std::string> ReadShared(RemoteAddr str);
  void NoteUnreadable() { walk_.unreadable += memory_.over() ? 0 : 1; }
  void CountNames(const CodeObject& code);
  bool Over() const { return memory_.over() || walk_.incomplete; }

  const TimedReader memory_;
  const MemoryReader& untimed_memory_;
  const Interpreter& interpreter_;
  const Layout& layout_;
  HeapWalk walk_;
  uint64_t name_bytes_ = 0;
  std::unordered_map<uint64_t, size_t> index_by_addr_;
  // File names (and module names) are shared by many code objects.
  std::unordered_map<uint64_t, std::string> shared_strings_;
};

absl::StatusOr<std::vector<Walker::GcLists>> Walker::FindLists() const {
  std::vector<GcLists> all;
  const auto add = [&](RemoteAddr generations, RemoteAddr permanent, RemoteAddr collecting) {
    GcLists lists{.collecting = collecting};
    for (int i = 0; i < kGenerations; ++i)
      lists.heads.push_back(generations + i * kGcGenerationSize);
    lists.heads.push_back(permanent);
    all.push_back(std::move(lists));
  };
  if (layout_.runtime.gc_generations != kAbsent) {  // 3.8: one collector for all interpreters
    add(interpreter_.runtime + layout_.runtime.gc_generations,
        interpreter_.runtime + layout_.runtime.gc_permanent,
        interpreter_.runtime + layout_.runtime.gc_collecting);
    return all;
  }
  SB_ASSIGN_OR_RETURN(std::vector<InterpreterState> states,
                      ReadInterpreterStates(untimed_memory_, interpreter_));
  for (const InterpreterState& state : states) {
    add(state.addr + layout_.interpreter.gc_generations,
        state.addr + layout_.interpreter.gc_permanent,
        state.addr + layout_.interpreter.gc_collecting);
  }
  return all;
}

void Walker::CountNames(const CodeObject& code) {
  name_bytes_ += code.filename.size() + code.name.size() + code.qualname.size();
  if (name_bytes_ <= HeapWalk::kMaxNameBytes) return;
  walk_.incomplete = true;
  walk_.incomplete_why =
      StrCat("the names of its code objects take more than ", HeapWalk::kMaxNameBytes, " bytes");
}

absl::Status Walker::WalkList(RemoteAddr head) {
  SB_ASSIGN_OR_RETURN(GcHead node, memory_.ReadValue<GcHead>(head));
  RemoteAddr at{node.next.value & ~uint64_t{3}};
  while (at != head && !walk_.incomplete) {
    if (!at.Plausible() || walk_.objects++ >= kMaxObjects) {
      return absl::DataLossError("a list of the garbage collector is broken");
    }
    struct {
      GcHead links;
      uint64_t refcount;
      RemoteAddr type;
    } object;
    SB_ASSIGN_OR_RETURN(object, memory_.ReadValue<decltype(object)>(at));
    if (object.type == interpreter_.function_type) VisitFunction(at + kGcHeadSize);
    at = RemoteAddr{object.links.next.value & ~uint64_t{3}};
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Walker::ReadShared(RemoteAddr str) {
  const auto known = shared_strings_.find(str.value);
  if (known != shared_strings_.end()) return known->second;
  SB_ASSIGN_OR_RETURN(std::string text, ReadUnicode(memory_, layout_, str));
  shared_strings_.emplace(str.value, text);
  return text;
}

absl::StatusOr<CodeObject> Walker::ReadCode(RemoteAddr addr) {
  CodeObject code;
  SB_ASSIGN_OR_RETURN(code.head, ReadCodeHead(memory_, layout_, interpreter_.code_type, addr));
  SB_ASSIGN_OR_RETURN(code.filename, ReadShared(code.head.filename));
  SB_ASSIGN_OR_RETURN(code.name, ReadUnicode(memory_, layout_, code.head.name));
  if (layout_.code.co_qualname == kAbsent) {
    code.qualname = code.name;
    return code;
  }
  code.qualname_source = QualnameSource::kCoQualname;
  if (code.head.qualname == code.head.name) {  // interned: one object for both
    code.qualname = code.name;
    return code;
  }
  SB_ASSIGN_OR_RETURN(code.qualname, ReadUnicode(memory_, layout_, code.head.qualname));
  return code;
}

void Walker::ImproveName(CodeObject& code, const CodeObject* parent,
                         const std::string* function_qualname) {
  if (code.qualname_source == QualnameSource::kCoQualname ||
      code.qualname_source == QualnameSource::kEnclosingCode) {
    return;
  }
  if (parent != nullptr && parent->qualname_source != QualnameSource::kCoName) {
    code.qualname = NestedQualname(*parent, code.name);
    code.qualname_source = QualnameSource::kEnclosingCode;
  } else if (function_qualname != nullptr && QualnameFitsName(*function_qualname, code.name)) {
    code.qualname = *function_qualname;
    code.qualname_source = QualnameSource::kFunctionQualname;
  }
}

void Walker::VisitCode(RemoteAddr addr, const CodeObject* parent,
                       const std::string* function_qualname, int depth) {
  const auto known = index_by_addr_.find(addr.value);
  if (known != index_by_addr_.end()) {
    ImproveName(walk_.codes[known->second], parent, function_qualname);
    return;
  }
  absl::StatusOr<CodeObject> code = ReadCode(addr);
  if (!code.ok()) return NoteUnreadable();
  if (code->name == "<module>") code->qualname_source = QualnameSource::kCoQualname;
  ImproveName(*code, parent, function_qualname);
  const size_t index = walk_.codes.size();
  index_by_addr_[addr.value] = index;
  CountNames(*code);
  walk_.codes.push_back(*std::move(code));
  if (depth < kMaxNesting) VisitNested(index, depth);
}

void Walker::VisitNested(size_t index, int depth) {
  absl::StatusOr<std::vector<RemoteAddr>> nested = ReadNestedCode(
      memory_, interpreter_.code_type, interpreter_.tuple_type, walk_.codes[index].head.consts);
  if (!nested.ok()) return NoteUnreadable();
  if (nested->empty()) return;
  const CodeObject parent = walk_.codes[index];  // a copy: the vector grows below
  for (RemoteAddr child : *nested) {
    if (Over()) return;
    VisitCode(child, &parent, nullptr, depth + 1);
  }
}

void Walker::VisitFunction(RemoteAddr function) {
  ++walk_.functions;
  std::array<std::byte, kLargestFunction> buffer;
  const std::span object = std::span(buffer).first(static_cast<size_t>(layout_.function_type.size));
  if (!memory_.Read(function, object).ok()) return NoteUnreadable();
  const auto field = [&](int32_t offset) {
    RemoteAddr value;
    std::memcpy(&value, buffer.data() + offset, sizeof(value));
    return value;
  };
  const RemoteAddr code = field(layout_.function.func_code);
  std::string qualname;
  const bool need_qualname = layout_.code.co_qualname == kAbsent;
  if (need_qualname) {
    absl::StatusOr<std::string> text =
        ReadUnicode(memory_, layout_, field(layout_.function.func_qualname));
    if (text.ok()) qualname = *std::move(text);
  }
  VisitCode(code, nullptr, need_qualname && !qualname.empty() ? &qualname : nullptr, 0);
  const auto index = index_by_addr_.find(code.value);
  if (index == index_by_addr_.end()) return;
  absl::StatusOr<std::string> module = ReadShared(field(layout_.function.func_module));
  if (module.ok()) walk_.modules.Add(walk_.codes[index->second].filename, *module);
}

absl::StatusOr<HeapWalk> Walker::Run() {
  SB_ASSIGN_OR_RETURN(std::vector<GcLists> all, FindLists());
  for (const GcLists& lists : all) {
    SB_ASSIGN_OR_RETURN(int32_t collecting, untimed_memory_.ReadValue<int32_t>(lists.collecting));
    if (collecting != 0) return absl::UnavailableError("a garbage collection is running");
  }
  walk_.modules.ReadAll(memory_, interpreter_).IgnoreError();
  for (const GcLists& lists : all) {
    for (RemoteAddr head : lists.heads) {
      if (walk_.incomplete) break;
      if (absl::Status s = WalkList(head); !s.ok()) {
        walk_.incomplete = true;
        walk_.incomplete_why = std::string(s.message());
      }
    }
  }
  return std::move(walk_);
}

}  // namespace

absl::StatusOr<HeapWalk> WalkHeap(const MemoryReader& memory, const Interpreter& interpreter,
                                  uint64_t deadline_ns) {
  return Walker(memory, interpreter, deadline_ns).Run();
}

}  // namespace sbump
