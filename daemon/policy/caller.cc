#include "daemon/policy/caller.h"

#include "absl/strings/str_join.h"
#include "daemon/base/str_cat.h"

namespace sbump {

std::string OwnerKey(const Caller& caller) {
  return caller.IsLocal() ? StrCat("uid ", caller.uid) : absl::StrJoin(caller.names, ", ");
}

std::string ToString(const Caller& caller) {
  if (caller.IsLocal()) return StrCat(OwnerKey(caller), " (pid ", caller.pid, ")");
  return StrCat(OwnerKey(caller), " (", caller.address, ")");
}

}  // namespace sbump
