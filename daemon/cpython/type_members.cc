#include "daemon/cpython/type_members.h"

#include <array>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/layout.h"

namespace sbump {
namespace {

constexpr int kMaxMembers = 64;
constexpr int64_t kMemberSize = 40;
constexpr size_t kMaxNameBytes = 64;
constexpr int64_t kLargestType = 1 << 16;

absl::StatusOr<std::string> ReadCString(const MemoryReader& memory, RemoteAddr addr) {
  if (!addr.Plausible()) return absl::DataLossError(StrCat("no name at ", ToString(addr)));
  std::string name;
  while (name.size() < kMaxNameBytes) {
    SB_ASSIGN_OR_RETURN(char c, memory.ReadValue<char>(addr + static_cast<int64_t>(name.size())));
    if (c == '\0') return name;
    name += c;
  }
  return absl::DataLossError(StrCat("the name at ", ToString(addr), " does not end"));
}

}  // namespace

absl::StatusOr<TypeFacts> ReadTypeFacts(const MemoryReader& memory, const Layout& layout,
                                        RemoteAddr type) {
  const RemoteAddr fields = type + layout.head_shift;
  TypeFacts facts;
  SB_ASSIGN_OR_RETURN(RemoteAddr name, memory.ReadPointer(fields + kTpName));
  SB_ASSIGN_OR_RETURN(facts.name, ReadCString(memory, name));
  SB_ASSIGN_OR_RETURN(facts.basicsize, memory.ReadValue<int64_t>(fields + kTpBasicsize));
  SB_ASSIGN_OR_RETURN(facts.dealloc, memory.ReadPointer(fields + kTpDealloc));
  SB_ASSIGN_OR_RETURN(RemoteAddr members, memory.ReadPointer(fields + kTpMembers));
  if (facts.basicsize <= 0 || facts.basicsize > kLargestType) {
    return absl::DataLossError(
        StrCat("type ", facts.name, " has a basic size of ", facts.basicsize));
  }
  for (int i = 0; i < kMaxMembers && members; ++i) {
    struct {
      RemoteAddr name;
      int64_t type;
      int64_t offset;
    } member;
    SB_ASSIGN_OR_RETURN(member, memory.ReadValue<decltype(member)>(members + i * kMemberSize));
    if (!member.name) return facts;
    SB_ASSIGN_OR_RETURN(std::string member_name, ReadCString(memory, member.name));
    if (member.offset < 0 || member.offset > facts.basicsize) {
      return absl::DataLossError(
          StrCat(facts.name, ".", member_name, " is said to be at offset ", member.offset));
    }
    facts.offset_by_member[member_name] = member.offset;
  }
  return absl::DataLossError(StrCat("type ", facts.name, " has no end of members"));
}

}  // namespace sbump
