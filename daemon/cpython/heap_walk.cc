#include "daemon/cpython/heap_walk.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/dict.h"
#include "daemon/cpython/gc_lists.h"
#include "daemon/cpython/interpreter_state.h"
#include "daemon/cpython/qualname.h"
#include "daemon/cpython/unicode.h"
#include "daemon/process/timed_reader.h"

namespace sbump {
namespace {

constexpr int kMaxNesting = 50;
constexpr int64_t kMaxModules = 100'000;
constexpr size_t kLargestFunction = 160;

class Walker {
 public:
  Walker(const MemoryReader& memory, const Interpreter& interpreter, uint64_t deadline_ns)
      : memory_(memory, deadline_ns,
                "the walk reached the longest time that the process may be stopped (--max-stop)"),
        untimed_memory_(memory),
        interpreter_(interpreter),
        layout_(interpreter.layout()) {}

  absl::StatusOr<HeapWalk> Run();

 private:
  absl::Status WalkLists();
  absl::Status WalkModules();
  void VisitNames(RemoteAddr dict, int depth);
  void VisitValue(RemoteAddr value, int depth);
  bool IsFunction(RemoteAddr object) const;
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
  void NoteIncomplete(std::string why);
  bool TooManyNames() const { return name_bytes_ > HeapWalk::kMaxNameBytes; }
  bool Over() const { return memory_.over() || TooManyNames(); }

  const TimedReader memory_;
  const MemoryReader& untimed_memory_;
  const Interpreter& interpreter_;
  const Layout& layout_;
  HeapWalk walk_;
  uint64_t name_bytes_ = 0;
  std::unordered_map<uint64_t, size_t> index_by_addr_;
  std::unordered_set<uint64_t> dicts_;  // whose names were visited
  // File names (and module names) are shared by many code objects.
  std::unordered_map<uint64_t, std::string> shared_strings_;
};

// The first reason is the one that is told.
void Walker::NoteIncomplete(std::string why) {
  if (walk_.incomplete) return;
  walk_.incomplete = true;
  walk_.incomplete_why = std::move(why);
}

void Walker::CountNames(const CodeObject& code) {
  name_bytes_ += code.filename.size() + code.name.size() + code.qualname.size();
  if (!TooManyNames()) return;
  NoteIncomplete(
      StrCat("the names of its code objects take more than ", HeapWalk::kMaxNameBytes, " bytes"));
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
  absl::StatusOr<std::vector<RemoteAddr>> nested =
      ReadNestedCode(memory_, layout_, interpreter_.code_type, interpreter_.tuple_type,
                     walk_.codes[index].head.consts);
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

absl::Status Walker::WalkLists() {
  SB_ASSIGN_OR_RETURN(const GcLists lists, GcLists::Find(untimed_memory_, interpreter_));
  SB_RETURN_IF_ERROR(lists.CheckIdle(untimed_memory_));
  walk_.modules.ReadAll(memory_, interpreter_).IgnoreError();
  const auto visit = [this](RemoteAddr object, RemoteAddr type) {
    ++walk_.objects;
    if (type == interpreter_.function_type) VisitFunction(object);
    return !TooManyNames();
  };
  for (RemoteAddr head : lists.heads()) {
    if (Over()) break;
    if (absl::Status s = WalkGcList(memory_, head, ListOwner::kStopped, visit); !s.ok())
      NoteIncomplete(std::string(s.message()));
  }
  return absl::OkStatus();
}

// ---- Free-threaded builds: their objects are on no lists. What has a name in a module or in a
// class is found; the rest introduces itself when it is called. ----

bool Walker::IsFunction(RemoteAddr object) const {
  const auto type = memory_.ReadPointer(object + kObType + layout_.head_shift);
  return type.ok() && *type == interpreter_.function_type;
}

void Walker::VisitValue(RemoteAddr value, int depth) {
  constexpr uint64_t kIsType = uint64_t{1} << 31;  // Py_TPFLAGS_TYPE_SUBCLASS
  constexpr int32_t kFirstField = 16;  // staticmethod, classmethod, property: what they wrap
  if (!value.Plausible()) return;
  if (IsFunction(value)) return VisitFunction(value);
  const auto type = memory_.ReadPointer(value + kObType + layout_.head_shift);
  if (!type.ok() || !type->Plausible()) return;
  const auto flags = memory_.ReadValue<uint64_t>(*type + kTpFlags + layout_.head_shift);
  if (flags.ok() && (*flags & kIsType) != 0) {
    const auto dict = memory_.ReadPointer(value + kTpDict + layout_.head_shift);
    if (dict.ok()) VisitNames(*dict, depth + 1);
    return;
  }
  const auto wrapped = memory_.ReadPointer(value + kFirstField + layout_.head_shift);
  if (wrapped.ok() && wrapped->Plausible() && IsFunction(*wrapped)) VisitFunction(*wrapped);
}

void Walker::VisitNames(RemoteAddr dict, int depth) {
  if (!dict || depth > kMaxNesting || !dicts_.insert(dict.value).second) return;
  const auto entries = FindDictEntries(memory_, layout_, interpreter_.dict_type, dict);
  if (!entries.ok()) return NoteUnreadable();
  for (int64_t i = 0; i < entries->count && !Over(); ++i) {
    const auto entry = ReadDictEntry(memory_, *entries, i);
    if (!entry.ok()) return NoteUnreadable();
    ++walk_.objects;
    VisitValue(entry->value, depth);
  }
}

absl::Status Walker::WalkModules() {
  SB_ASSIGN_OR_RETURN(std::vector<InterpreterState> states,
                      ReadInterpreterStates(untimed_memory_, interpreter_));
  walk_.modules.ReadAll(memory_, interpreter_).IgnoreError();
  for (const InterpreterState& state : states) {
    if (!state.modules) continue;
    const auto entries = FindDictEntries(memory_, layout_, interpreter_.dict_type, state.modules);
    if (!entries.ok()) continue;
    for (int64_t i = 0; i < std::min(entries->count, kMaxModules) && !Over(); ++i) {
      const auto module = ReadDictEntry(memory_, *entries, i);
      if (!module.ok() || !module->value.Plausible()) continue;
      const auto dict = memory_.ReadPointer(module->value + kModuleDict + layout_.head_shift);
      if (dict.ok() && dict->Plausible()) VisitNames(*dict, 0);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<HeapWalk> Walker::Run() {
  SB_RETURN_IF_ERROR(layout_.free_threaded ? WalkModules() : WalkLists());
  if (memory_.over()) NoteIncomplete("the process may not be stopped for longer (--max-stop)");
  return std::move(walk_);
}

}  // namespace

absl::StatusOr<HeapWalk> WalkHeap(const MemoryReader& memory, const Interpreter& interpreter,
                                  uint64_t deadline_ns) {
  return Walker(memory, interpreter, deadline_ns).Run();
}

}  // namespace sbump
