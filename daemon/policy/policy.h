// Who may do what. Immutable values: a reload makes a new one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/match/glob.h"
#include "daemon/policy/caller.h"

namespace sbump {

enum class Role { kViewer, kOperator };

// What a caller may touch, and how hard. What is absent is not limited.
struct Limits {
  static constexpr uint64_t kDefaultMaxStopNs = 100'000'000;

  std::optional<std::set<uid_t>> target_uids;
  std::optional<std::vector<Glob>> cgroups;
  std::optional<std::vector<Glob>> cmdlines;
  std::optional<uint64_t> max_delay_ns;
  std::optional<uint64_t> max_ttl_ns;
  uint64_t max_stop_ns = kDefaultMaxStopNs;
  std::optional<double> max_duty;  // injected time by passed time, over any second: 0.2
  std::optional<size_t> max_sessions;

  bool RestrictTargets() const { return target_uids || cgroups || cmdlines; }
};

struct Grant {
  Role role = Role::kViewer;
  Limits limits;
  bool others_sessions = false;  // may also change and end what others began
  std::string source;            // "/etc/sbump/policy.yaml:12"
};

// Whom an entry of the file is about: one of these.
struct Subject {
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  std::string name;  // of a certificate: "dns:dash.example"

  bool Matches(const Caller& caller) const;
};

class Policy {
 public:
  struct Entry {
    Subject subject;
    Grant grant;
  };

  // Root on the local socket, and `own_uid`, the daemon's own user, for everything; nobody else.
  static Policy RootAlone(uid_t own_uid);

  // The first entry that matches a caller decides. Root on the local socket, when no entry matches,
  // may do everything.
  explicit Policy(std::vector<Entry> entries);

  // nullptr: nothing at all.
  const Grant* GrantOf(const Caller& caller) const;
  bool is_file() const { return is_file_; }

 private:
  std::vector<Entry> entries_;
  bool is_file_ = true;
};

}  // namespace sbump
