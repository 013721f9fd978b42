// The qualified names of code objects that have not run yet, where code objects have none
// themselves (before 3.11): they follow from what encloses them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "daemon/process/remote_memory.h"

namespace sbump {

class ExpectedNames {
 public:
  // Of the names and what they take beside: the target chooses how many, and how long.
  static constexpr uint64_t kMaxBytes = 64 << 20;

  bool HasRoom() const { return bytes_ < kMaxBytes; }
  // Beyond kMaxBytes nothing new is remembered.
  void Remember(RemoteAddr code, uint32_t fingerprint, std::string qualname);
  // Null where none is known of the object that has this fingerprint.
  const std::string* Find(RemoteAddr code, uint32_t fingerprint) const;
  void Forget(RemoteAddr code);

 private:
  static constexpr uint64_t kOverheadBytes = 96;

  struct Name {
    uint32_t fingerprint;
    std::string qualname;
  };
  std::unordered_map<uint64_t, Name> names_;  // by address
  uint64_t bytes_ = 0;
};

}  // namespace sbump
