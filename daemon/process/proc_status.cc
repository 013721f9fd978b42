#include "daemon/process/proc_status.h"

#include "absl/strings/str_cat.h"

namespace sbump {

std::string StatusField(const std::string& status, const std::string& key) {
  const size_t at = status.find(absl::StrCat("\n", key, ":\t"));
  if (at == std::string::npos) return "";
  const size_t start = at + key.size() + 3;
  return status.substr(start, status.find('\n', start) - start);
}

}  // namespace sbump
