// Who asks: what the kernel or a verified certificate says, never what a client says of itself.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sbump {

struct Caller {
  enum class Kind { kLocal, kCertificate };

  Kind kind = Kind::kLocal;
  // Of a local one: as the process was when it connected.
  uid_t uid = static_cast<uid_t>(-1);
  pid_t pid = 0;
  std::vector<gid_t> groups;
  // Of a certificate: its subject alternative names, "dns:dash.example", "uri:spiffe://site/dash".
  std::vector<std::string> names;
  std::string address;      // "192.0.2.1:4711"
  uint64_t connection = 0;  // never used twice in the life of a daemon

  bool IsLocal() const { return kind == Kind::kLocal; }
};

// Whose sessions are whose: "uid 1000", "dns:dash.example".
std::string OwnerKey(const Caller& caller);

// For people: "uid 1000 (pid 77)", "dns:dash.example (192.0.2.1:4711)".
std::string ToString(const Caller& caller);

}  // namespace sbump
