#include "tests/fakes/fake_python.h"

#include <algorithm>
#include <cstdlib>

namespace sbump {
namespace {

constexpr RemoteAddr kRuntime{0x1000'0000};
constexpr uint64_t kRuntimeBytes = 0x10000;
constexpr uint64_t kInterpreterBytes = 0x4000;
constexpr uint64_t kThreadBytes = 0x400;
constexpr uint64_t kTypeBytes = 0x200;
constexpr RemoteAddr kDealloc{0x0040'1000};
constexpr int32_t kGenerations = 3;

// PyCodeObject's, Include/cpython/code.h of 3.8, 3.11 and 3.12.
int32_t ArgcountOffset(const Layout& layout) {
  return layout.minor >= 12 ? 52 : layout.minor == 11 ? 56 : 16;
}
int32_t KwonlyargcountOffset(const Layout& layout) { return ArgcountOffset(layout) + 8; }

}  // namespace

FakePython::FakePython(int minor) {
  auto file = std::make_shared<InterpreterFile>();
  file->version = {.major = 3, .minor = minor};
  file->layout = FindLayout(file->version);
  if (file->layout == nullptr) std::abort();
  interpreter_.file = file;
  interpreter_.own_layout = *file->layout;
  Layout& own = interpreter_.own_layout;
  if (own.interpreter.gc != kAbsent) {
    own.interpreter.gc_generations = own.interpreter.gc + own.gc_state.generations[0];
    own.interpreter.gc_permanent = own.interpreter.gc + own.gc_state.permanent;
    own.interpreter.gc_collecting = own.interpreter.gc + own.gc_state.collecting;
  }
  interpreter_.path = "/usr/bin/python3";
  interpreter_.runtime = kRuntime;
  interpreter_.code_type = Allocate(kTypeBytes);
  interpreter_.function_type = Allocate(kTypeBytes);
  interpreter_.tuple_type = Allocate(kTypeBytes);
  interpreter_.dict_type = Allocate(kTypeBytes);
  memory_.Map(kRuntime, kRuntimeBytes);
  PutTypes();
  if (minor >= 13) PutDebugOffsets();
  main_interpreter_ = AddInterpreter();
  main_thread_ = AddThread(main_interpreter_);
  SetModules(NewDict({}));
}

RemoteAddr FakePython::Allocate(uint64_t size) {
  const RemoteAddr addr{next_};
  next_ += (size + 15) / 16 * 16;
  memory_.Map(addr, size);
  return addr;
}

// ---- Types ----

RemoteAddr FakePython::PutCString(std::string_view text) {
  const RemoteAddr addr = Allocate(text.size() + 1);
  memory_.PutBytes(addr, std::as_bytes(std::span(text)));
  return addr;
}

void FakePython::PutType(RemoteAddr type, const std::string& name, int64_t basicsize,
                         const Members& members) {
  constexpr int64_t kMemberSize = 40;
  memory_.Put(type + kTpName, PutCString(name));
  memory_.Put(type + kTpBasicsize, basicsize);
  memory_.Put(type + kTpDealloc, kDealloc);
  const RemoteAddr table = Allocate((members.size() + 1) * kMemberSize);
  memory_.Put(type + kTpMembers, table);
  RemoteAddr at = table;
  for (const auto& [member, offset] : members) {
    if (offset == kAbsent) continue;
    memory_.Put(at, PutCString(member));
    memory_.Put(at + 16, int64_t{offset});
    member_offsets_[name + "." + member] = at + 16;
    at = at + kMemberSize;
  }
}

void FakePython::PutTypes() {
  const auto& code = layout().code;
  PutType(interpreter_.code_type, "code",
          code.co_code_adaptive == kAbsent ? code.size : code.co_code_adaptive,
          {{"co_filename", code.co_filename},
           {"co_name", code.co_name},
           {"co_qualname", code.co_qualname},
           {"co_firstlineno", code.co_firstlineno},
           {"co_flags", code.co_flags},
           {"co_consts", code.co_consts},
           {"co_argcount", ArgcountOffset(layout())},
           {"co_kwonlyargcount", KwonlyargcountOffset(layout())}});
  PutType(interpreter_.function_type, "function", layout().function_type.size,
          {{"__globals__", layout().function.func_globals},
           {"__module__", layout().function.func_module}});
  PutType(interpreter_.tuple_type, "tuple", 24, {});
  PutType(interpreter_.dict_type, "dict", 48, {});
}

void FakePython::PutDebugOffsets() {
  memory_.PutBytes(kRuntime, std::as_bytes(std::span("xdebugpy", 8)));
  const Layout& at = layout();
  const auto put = [&](int64_t word, int64_t value) { memory_.Put(kRuntime + 8 * word, value); };
  put(1, int64_t{3 << 24 | at.minor << 16 | 0xF0});
  put(5, at.runtime.interpreters_head);
  put(8, at.interpreter.next);
  put(9, at.interpreter.threads_head);
  put(at.word.gc, at.interpreter.gc);
  put(at.word.imports_modules, at.interpreter.modules);
  put(at.word.thread_next, at.thread.next);
  put(at.word.thread_interp, kThreadInterpreter);
  put(at.word.thread_current_frame, at.thread.frame);
  put(at.word.frame_executable, at.frame.code);
  put(at.word.frame_instr_ptr, at.frame.prev_instr);
  put(at.word.code_size, at.code.size);
  put(at.word.code_size + 1, at.code.co_filename);
  put(at.word.code_size + 2, at.code.co_name);
  put(at.word.code_size + 3, at.code.co_qualname);
  put(at.word.code_size + 5, at.code.co_firstlineno);
  put(at.word.code_adaptive, at.code.co_code_adaptive);
  put(at.word.tuple_ob_item, at.tuple.items);
}

// ---- Interpreters, threads, the collector ----

RemoteAddr FakePython::AddInterpreter() {
  const RemoteAddr added = Allocate(kInterpreterBytes);
  const RemoteAddr head = kRuntime + layout().runtime.interpreters_head;
  memory_.Put(added + layout().interpreter.next, *memory_.ReadPointer(head));
  memory_.Put(head, added);
  const bool in_runtime = layout().runtime.gc_generations != kAbsent;
  if (!in_runtime || !main_interpreter_) PutGcLists(added);
  return added;
}

RemoteAddr FakePython::AddThread(RemoteAddr interpreter) {
  const RemoteAddr added = Allocate(kThreadBytes);
  const RemoteAddr head = interpreter + layout().interpreter.threads_head;
  memory_.Put(added + layout().thread.next, *memory_.ReadPointer(head));
  memory_.Put(added + kThreadInterpreter, interpreter);
  memory_.Put(head, added);
  return added;
}

void FakePython::PutGcLists(RemoteAddr interpreter) {
  const bool in_runtime = layout().runtime.gc_generations != kAbsent;
  const RemoteAddr base = in_runtime ? kRuntime : interpreter;
  const int32_t generations =
      in_runtime ? layout().runtime.gc_generations : layout().interpreter.gc_generations;
  const int32_t permanent =
      in_runtime ? layout().runtime.gc_permanent : layout().interpreter.gc_permanent;
  for (int i = 0; i <= kGenerations; ++i) {
    const RemoteAddr head =
        i == kGenerations ? base + permanent : base + generations + i * kGcGenerationSize;
    memory_.Put(head, head);
    memory_.Put(head + 8, head);
  }
}

RemoteAddr FakePython::GenerationHead(int generation) const {
  const bool in_runtime = layout().runtime.gc_generations != kAbsent;
  const RemoteAddr base = in_runtime ? kRuntime : main_interpreter_;
  if (generation == kGenerations)
    return base + (in_runtime ? layout().runtime.gc_permanent : layout().interpreter.gc_permanent);
  return base + generation * kGcGenerationSize +
         (in_runtime ? layout().runtime.gc_generations : layout().interpreter.gc_generations);
}

RemoteAddr FakePython::CollectingFlag() const {
  return layout().runtime.gc_collecting != kAbsent
             ? kRuntime + layout().runtime.gc_collecting
             : main_interpreter_ + layout().interpreter.gc_collecting;
}

void FakePython::Track(RemoteAddr object, int generation) {
  const RemoteAddr head = GenerationHead(generation);
  const RemoteAddr links = object + -kGcHeadSize;
  const RemoteAddr last = *memory_.ReadPointer(head + 8);
  memory_.Put(last, links);
  memory_.Put(links, head);
  memory_.Put(links + 8, last);
  memory_.Put(head + 8, links);
}

void FakePython::SetModules(RemoteAddr interpreter, RemoteAddr dict) {
  memory_.Put(interpreter + layout().interpreter.modules, dict);
}

// ---- Objects ----

void FakePython::PutLengthAndState(RemoteAddr str, size_t length, uint32_t kind, bool ascii) {
  memory_.Put(str + kUnicodeLength, int64_t{static_cast<int64_t>(length)});
  memory_.Put(str + kUnicodeState, kind << 2 | 1u << 5 | (ascii ? 1u << 6 : 0u));
}

RemoteAddr FakePython::NewStr(std::u32string_view text) {
  const char32_t widest = text.empty() ? 0 : *std::max_element(text.begin(), text.end());
  const bool ascii = widest < 0x80;
  const uint32_t kind = widest < 0x100 ? 1 : widest < 0x10000 ? 2 : 4;
  const int32_t data = ascii ? layout().unicode.ascii_data : layout().unicode.compact_data;
  const RemoteAddr str = Allocate(static_cast<uint64_t>(data) + (text.size() + 1) * kind);
  PutLengthAndState(str, text.size(), kind, ascii);
  RemoteAddr at = str + data;
  for (const char32_t point : text) {
    memory_.PutBytes(at, std::as_bytes(std::span(&point, 1)).first(kind));
    at = at + kind;
  }
  return str;
}

RemoteAddr FakePython::NewStr(std::string_view ascii) {
  return NewStr(std::u32string(ascii.begin(), ascii.end()));
}

RemoteAddr FakePython::NewTuple(const std::vector<RemoteAddr>& items) {
  const RemoteAddr tuple = Allocate(static_cast<uint64_t>(layout().tuple.items) + 8 * items.size());
  memory_.Put(tuple + kObType, interpreter_.tuple_type);
  memory_.Put(tuple + kVarSize, int64_t{static_cast<int64_t>(items.size())});
  for (size_t i = 0; i < items.size(); ++i)
    memory_.Put(tuple + layout().tuple.items + 8 * static_cast<int64_t>(i), items[i]);
  return tuple;
}

RemoteAddr FakePython::NewCode(const Code& code) {
  const auto& at = layout().code;
  const RemoteAddr addr =
      Allocate(static_cast<uint64_t>(at.size) + 2 * static_cast<uint64_t>(code.first_traceable));
  memory_.Put(addr + kObType, interpreter_.code_type);
  memory_.Put(addr + at.co_flags, code.flags);
  memory_.Put(addr + at.co_firstlineno, code.first_line);
  memory_.Put(addr + at.co_consts, NewTuple(code.consts));
  memory_.Put(addr + at.co_filename, NewStr(code.filename));
  const RemoteAddr name = NewStr(code.name);
  memory_.Put(addr + at.co_name, name);
  if (at.co_qualname != kAbsent)
    memory_.Put(addr + at.co_qualname, code.qualname.empty() ? name : NewStr(code.qualname));
  if (at.co_firsttraceable != kAbsent) {
    memory_.Put(addr + at.co_firsttraceable, code.first_traceable);
    const RemoteAddr unit = addr + at.co_code_adaptive + 2 * code.first_traceable;
    memory_.Put(unit,
                code.opcode == 0 ? static_cast<uint8_t>(layout().opcode.resume) : code.opcode);
    memory_.Put(unit + 1, code.oparg);
  }
  if (!code.parameters.empty()) PutParameters(addr, code);
  return addr;
}

// Among the names of its local variables, of which they are the first.
void FakePython::PutParameters(RemoteAddr code, const Code& of) {
  const auto& at = layout().code;
  std::vector<RemoteAddr> names;
  for (const std::string& name : of.parameters) names.push_back(NewStr(name));
  names.push_back(NewStr("local"));
  const auto count = static_cast<int32_t>(of.parameters.size());
  memory_.Put(code + ArgcountOffset(layout()), count - of.kwonlyargcount);
  memory_.Put(code + KwonlyargcountOffset(layout()), of.kwonlyargcount);
  memory_.Put(code + (layout().minor >= 11 ? at.co_filename - 16 : at.co_consts + 16),
              NewTuple(names));
}

CodeHead FakePython::Head(RemoteAddr code) const {
  return *ReadCodeHead(memory_, layout(), interpreter_.code_type, code);
}

RemoteAddr FakePython::PutKeys(const Items& items, DictShape shape) {
  const auto& at = layout().dict;
  const int64_t size = int64_t{1} << shape.log2_size;
  const int64_t width = size <= 0xff ? 1 : size <= 0xffff ? 2 : 4;
  const bool old = at.keys_size != kAbsent;
  const int64_t entry = old || shape.general_keys ? 24 : 16;
  const RemoteAddr keys = Allocate(static_cast<uint64_t>(
      at.keys_indices + size * width + entry * static_cast<int64_t>(items.size())));
  if (old) {
    memory_.Put(keys + at.keys_size, size);
  } else {
    const int log2_width = width == 1 ? 0 : width == 2 ? 1 : 2;
    memory_.Put(keys + at.keys_log2_index_bytes,
                static_cast<uint8_t>(shape.log2_size + log2_width));
    memory_.Put(keys + at.keys_kind, static_cast<uint8_t>(shape.general_keys ? 0 : 1));
  }
  memory_.Put(keys + at.keys_nentries, static_cast<int64_t>(items.size()));
  RemoteAddr to = keys + at.keys_indices + size * width + (entry - 16);
  for (const auto& [key, value] : items) {
    if (entry == 24) memory_.Put(to + -8, uint64_t{0x4841'5348});  // the hash
    memory_.Put(to, key);
    memory_.Put(to + 8, value);
    to = to + entry;
  }
  return keys;
}

RemoteAddr FakePython::NewDict(const Items& items, DictShape shape) {
  const RemoteAddr dict = Allocate(64);
  memory_.Put(dict + kObType, interpreter_.dict_type);
  memory_.Put(dict + kDictKeys, PutKeys(items, shape));
  memory_.Put(dict + kDictUsed, static_cast<int64_t>(std::ranges::count_if(
                                    items, [](const auto& item) { return bool{item.second}; })));
  return dict;
}

RemoteAddr FakePython::NewModule(const Items& attributes) {
  const RemoteAddr module = Allocate(64);
  memory_.Put(module + kModuleDict, NewDict(attributes));
  return module;
}

RemoteAddr FakePython::NewModule(std::string_view name, std::string_view file) {
  return NewModule({{NewStr("__name__"), NewStr(name)}, {NewStr("__file__"), NewStr(file)}});
}

RemoteAddr FakePython::NewFunction(RemoteAddr code, std::string_view qualname,
                                   std::string_view module, int generation) {
  const auto& at = layout().function;
  const RemoteAddr function =
      Allocate(kGcHeadSize + static_cast<uint64_t>(layout().function_type.size)) + kGcHeadSize;
  memory_.Put(function + kObType, interpreter_.function_type);
  memory_.Put(function + at.func_code, code);
  memory_.Put(function + at.func_qualname, NewStr(qualname));
  memory_.Put(function + at.func_module, NewStr(module));
  Track(function, generation);
  return function;
}

}  // namespace sbump
