#include "daemon/cpython/offset_checks.h"

#include "daemon/base/str_cat.h"
#include "daemon/cpython/interpreter_state.h"
#include "daemon/cpython/published_offsets.h"
#include "daemon/cpython/type_members.h"

namespace sbump {
namespace {

struct Expected {
  const char* member;
  int32_t offset;
};

absl::Status Compare(std::string_view type, std::string_view what, int64_t found,
                     int64_t expected) {
  if (found == expected) return absl::OkStatus();
  return absl::DataLossError(
      StrCat(type, ".", what, " is ", found, " in the process but ", expected,
             " in sbump's table: an interpreter built in a way that sbump does not know"));
}

absl::Status CheckMembers(const TypeFacts& facts, std::initializer_list<Expected> expected) {
  for (const Expected& e : expected) {
    if (e.offset == kAbsent) continue;
    const auto found = facts.offset_by_member.find(e.member);
    if (found == facts.offset_by_member.end()) {
      return absl::DataLossError(StrCat("type ", facts.name, " has no member ", e.member));
    }
    SB_RETURN_IF_ERROR(Compare(facts.name, e.member, found->second, e.offset));
  }
  return absl::OkStatus();
}

absl::Status CheckCodeType(const TypeFacts& facts, const Layout& layout) {
  if (facts.name != "code")
    return absl::DataLossError(StrCat("PyCode_Type calls itself ", facts.name));
  // From 3.11 on tp_basicsize ends where the bytecode begins.
  const int32_t size =
      layout.code.co_code_adaptive == kAbsent ? layout.code.size : layout.code.co_code_adaptive;
  SB_RETURN_IF_ERROR(Compare("code", "tp_basicsize", facts.basicsize, size));
  return CheckMembers(facts, {{"co_filename", layout.code.co_filename},
                              {"co_name", layout.code.co_name},
                              {"co_qualname", layout.code.co_qualname},
                              {"co_firstlineno", layout.code.co_firstlineno},
                              {"co_flags", layout.code.co_flags},
                              {"co_consts", layout.code.co_consts}});
}

absl::Status CheckFunctionType(const TypeFacts& facts, const Layout& layout) {
  if (facts.name != "function")
    return absl::DataLossError(StrCat("PyFunction_Type calls itself ", facts.name));
  SB_RETURN_IF_ERROR(
      Compare("function", "tp_basicsize", facts.basicsize, layout.function_type.size));
  // From 3.14 on __module__ is no member but has a getter (Objects/funcobject.c).
  const int32_t module = layout.minor >= 14 ? kAbsent : layout.function.func_module;
  return CheckMembers(facts,
                      {{"__globals__", layout.function.func_globals}, {"__module__", module}});
}

}  // namespace

absl::StatusOr<std::vector<InterpreterCheck>> CheckOffsets(const MemoryReader& memory,
                                                           Interpreter& interpreter) {
  const Layout& layout = interpreter.layout();
  std::vector<InterpreterCheck> checks;
  if (layout.word.gc != kAbsent) {
    SB_RETURN_IF_ERROR(TakePublishedOffsets(memory, interpreter.runtime, interpreter.file->version,
                                            interpreter.own_layout));
    checks.push_back({"_Py_DebugOffsets", "agrees with the table"});
  }
  SB_ASSIGN_OR_RETURN(TypeFacts code, ReadTypeFacts(memory, layout, interpreter.code_type));
  SB_RETURN_IF_ERROR(CheckCodeType(code, layout));
  checks.push_back({"PyCode_Type.tp_members", "agrees with the table"});
  SB_ASSIGN_OR_RETURN(TypeFacts function, ReadTypeFacts(memory, layout, interpreter.function_type));
  SB_RETURN_IF_ERROR(CheckFunctionType(function, layout));
  checks.push_back({"PyFunction_Type.tp_members", "agrees with the table"});
  SB_ASSIGN_OR_RETURN(std::vector<InterpreterState> states,
                      ReadInterpreterStates(memory, interpreter));
  checks.push_back({"interpreters", StrCat(states.size())});
  if (layout.gc_state.permanent != kAbsent) {
    SB_RETURN_IF_ERROR(FindGcLists(memory, states.front().addr, interpreter.own_layout));
    checks.push_back({"garbage collector", "its lists are where the table has them"});
  }
  return checks;
}

}  // namespace sbump
