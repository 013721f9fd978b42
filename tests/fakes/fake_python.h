// A small CPython of one version in a FakeMemory, sound until a test breaks it. Objects are laid
// out by daemon/cpython/layout.h; that those numbers are CPython's own is proven against real
// interpreters, not here.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/cpython/code_object.h"
#include "daemon/cpython/interpreter.h"
#include "tests/fakes/fake_memory.h"

namespace sbump {

inline constexpr int kFakeMinors[] = {8, 9, 10, 11, 12, 13, 14, 15};

struct DictShape {
  int log2_size = 3;          // of the index
  bool general_keys = false;  // 3.11 on: entries hold the hash
};

class FakePython {
 public:
  // One interpreter with one thread, an empty sys.modules and empty collector's lists.
  explicit FakePython(int minor);

  FakeMemory& memory() { return memory_; }
  const Interpreter& interpreter() const { return interpreter_; }
  const Layout& layout() const { return interpreter_.layout(); }

  // Zeroed, at a multiple of 16.
  RemoteAddr Allocate(uint64_t size);

  RemoteAddr NewStr(std::u32string_view text);  // of the smallest kind that holds it
  RemoteAddr NewStr(std::string_view ascii);

  struct Code {
    std::string filename = "/app/mod.py";
    std::string name = "f";
    std::string qualname;  // empty: the object of `name`
    uint32_t flags = kCoOptimized | kCoNewLocals;
    uint32_t first_line = 1;
    std::vector<RemoteAddr> consts;
    int32_t first_traceable = 0;
    uint8_t opcode = 0;  // of the first RESUME unit; 0: RESUME
    uint8_t oparg = 0;
    std::vector<std::string> parameters;  // the last `kwonlyargcount` of them behind `*`
    int32_t kwonlyargcount = 0;
  };
  RemoteAddr NewCode(const Code& code);
  RemoteAddr NewTuple(const std::vector<RemoteAddr>& items);
  CodeHead Head(RemoteAddr code) const;  // must be sound

  using Items = std::vector<std::pair<RemoteAddr, RemoteAddr>>;
  RemoteAddr NewDict(const Items& items, DictShape shape = {});
  RemoteAddr NewModule(const Items& attributes);
  // With __name__ and __file__.
  RemoteAddr NewModule(std::string_view name, std::string_view file);
  void SetModules(RemoteAddr dict) { SetModules(main_interpreter_, dict); }
  void SetModules(RemoteAddr interpreter, RemoteAddr dict);

  // Known to the collector: in generation 0, 1, 2, or 3 for the permanent one.
  RemoteAddr NewFunction(RemoteAddr code, std::string_view qualname = "f",
                         std::string_view module = "mod", int generation = 0);
  // Appends an object that has a collector's head in front of it.
  void Track(RemoteAddr object, int generation);
  RemoteAddr GenerationHead(int generation) const;
  RemoteAddr CollectingFlag() const;

  RemoteAddr main_interpreter() const { return main_interpreter_; }
  RemoteAddr main_thread() const { return main_thread_; }
  RemoteAddr AddInterpreter();
  RemoteAddr AddThread(RemoteAddr interpreter);

  // Where a type's table keeps the offset of a member: "code.co_name".
  RemoteAddr MemberOffset(const std::string& type_and_member) const {
    return member_offsets_.at(type_and_member);
  }

 private:
  using Members = std::vector<std::pair<std::string, int32_t>>;
  void PutType(RemoteAddr type, const std::string& name, int64_t basicsize, const Members& members);
  void PutTypes();
  void PutDebugOffsets();
  void PutParameters(RemoteAddr code, const Code& of);
  RemoteAddr PutCString(std::string_view text);
  void PutLengthAndState(RemoteAddr str, size_t length, uint32_t kind, bool ascii);
  RemoteAddr PutKeys(const Items& items, DictShape shape);
  void PutGcLists(RemoteAddr interpreter);

  FakeMemory memory_;
  Interpreter interpreter_;
  uint64_t next_ = 0x2000'0000;
  RemoteAddr main_interpreter_, main_thread_;
  std::map<std::string, RemoteAddr> member_offsets_;
};

}  // namespace sbump
