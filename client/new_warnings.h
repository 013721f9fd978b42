// What a session's updates warn of, each once: a warning may go, and come again.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "proto/sbump/v1/control.pb.h"

namespace sbump {

class NewWarnings {
 public:
  static constexpr size_t kMost = 1'000;  // further ones are not told

  // "warning: ..." of each that no earlier update had.
  std::vector<std::string> Take(const v1::SessionUpdate& update);

 private:
  std::set<std::string> told_;
};

}  // namespace sbump
