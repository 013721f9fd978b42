#include "daemon/cpython/parameters.h"

#include "daemon/base/str_cat.h"
#include "daemon/cpython/tuple.h"
#include "daemon/cpython/type_members.h"
#include "daemon/cpython/types.h"
#include "daemon/cpython/unicode.h"

namespace sbump {
namespace {

constexpr int32_t kMostParameters = 255;
constexpr size_t kMostLocals = 10'000;

// Include/cpython/code.h. 3.8 to 3.10: co_consts, co_names, co_varnames. 3.11 on:
// co_localsplusnames, co_localspluskinds, co_filename.
int32_t NamesOffset(const Layout& layout) {
  return layout.minor >= 11 ? layout.code.co_filename - 16 : layout.code.co_consts + 16;
}

absl::StatusOr<int32_t> ReadCount(const MemoryReader& memory, const TypeFacts& code_type,
                                  RemoteAddr code, const std::string& member) {
  const auto offset = code_type.offset_by_member.find(member);
  if (offset == code_type.offset_by_member.end())
    return absl::DataLossError(StrCat("code objects have no ", member));
  SB_ASSIGN_OR_RETURN(const int32_t count, memory.ReadValue<int32_t>(code + offset->second));
  if (count < 0 || count > kMostParameters)
    return absl::DataLossError(StrCat("its code has a ", member, " of ", count));
  return count;
}

absl::Status CheckType(const MemoryReader& memory, RemoteAddr object, RemoteAddr type,
                       std::string_view what) {
  SB_ASSIGN_OR_RETURN(const RemoteAddr found, memory.ReadPointer(object + kObType));
  return found == type ? absl::OkStatus()
                       : absl::DataLossError(StrCat(ToString(object), " is no ", what));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadParameters(const MemoryReader& memory,
                                                        const Interpreter& interpreter,
                                                        RemoteAddr function) {
  const Layout& layout = interpreter.layout();
  SB_RETURN_IF_ERROR(CheckType(memory, function, interpreter.function_type, "function"));
  SB_ASSIGN_OR_RETURN(const RemoteAddr code,
                      memory.ReadPointer(function + layout.function.func_code));
  SB_RETURN_IF_ERROR(CheckType(memory, code, interpreter.code_type, "code object"));
  SB_ASSIGN_OR_RETURN(const TypeFacts facts, ReadTypeFacts(memory, layout, interpreter.code_type));
  SB_ASSIGN_OR_RETURN(const int32_t positional, ReadCount(memory, facts, code, "co_argcount"));
  SB_ASSIGN_OR_RETURN(const int32_t behind, ReadCount(memory, facts, code, "co_kwonlyargcount"));
  SB_ASSIGN_OR_RETURN(const RemoteAddr tuple, memory.ReadPointer(code + NamesOffset(layout)));
  SB_RETURN_IF_ERROR(CheckType(memory, tuple, interpreter.tuple_type, "tuple"));
  SB_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> names,
                      ReadTuple(memory, layout, tuple, kMostLocals));
  const auto count = static_cast<size_t>(positional + behind);
  if (count > names.size()) return absl::DataLossError("its code has more parameters than names");
  std::vector<std::string> parameters;
  for (size_t i = 0; i < count; ++i) {
    SB_ASSIGN_OR_RETURN(std::string name, ReadUnicode(memory, layout, names[i]));
    parameters.push_back(std::move(name));
  }
  return parameters;
}

}  // namespace sbump
