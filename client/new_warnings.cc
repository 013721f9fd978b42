#include "client/new_warnings.h"

#include "client/printable.h"
#include "daemon/base/str_cat.h"

namespace sbump {

std::vector<std::string> NewWarnings::Take(const v1::SessionUpdate& update) {
  std::vector<std::string> fresh;
  for (const std::string& warning : update.warnings()) {
    if (told_.size() < kMost && told_.insert(warning).second)
      fresh.push_back(StrCat("warning: ", Printable(warning)));
  }
  return fresh;
}

}  // namespace sbump
