#include "daemon/session/expected_names.h"

#include <utility>

namespace sbump {

void ExpectedNames::Remember(RemoteAddr code, uint32_t fingerprint, std::string qualname) {
  Forget(code);
  if (!HasRoom()) return;
  bytes_ += kOverheadBytes + qualname.size();
  names_[code.value] = {fingerprint, std::move(qualname)};
}

const std::string* ExpectedNames::Find(RemoteAddr code, uint32_t fingerprint) const {
  const auto name = names_.find(code.value);
  const bool is_it = name != names_.end() && name->second.fingerprint == fingerprint;
  return is_it ? &name->second.qualname : nullptr;
}

void ExpectedNames::Forget(RemoteAddr code) {
  const auto name = names_.find(code.value);
  if (name == names_.end()) return;
  bytes_ -= kOverheadBytes + name->second.qualname.size();
  names_.erase(name);
}

}  // namespace sbump
