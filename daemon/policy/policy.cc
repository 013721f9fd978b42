#include "daemon/policy/policy.h"

#include <algorithm>

namespace sbump {
namespace {

Grant Everything(std::string source) {
  Grant grant{.role = Role::kOperator, .others_sessions = true, .source = std::move(source)};
  grant.limits.max_stop_ns = UINT64_MAX;
  return grant;
}

}  // namespace

bool Subject::Matches(const Caller& caller) const {
  const auto has = [](const auto& list, const auto& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  if (!caller.IsLocal()) return !name.empty() && has(caller.names, name);
  return (uid && *uid == caller.uid) || (gid && has(caller.groups, *gid));
}

Policy Policy::RootAlone(uid_t own_uid) {
  Policy policy({{.subject = {.uid = own_uid}, .grant = Everything("the daemon's own user")}});
  policy.is_file_ = false;
  return policy;
}

Policy::Policy(std::vector<Entry> entries) : entries_(std::move(entries)) {
  entries_.push_back({.subject = {.uid = 0}, .grant = Everything("root")});
}

const Grant* Policy::GrantOf(const Caller& caller) const {
  for (const Entry& entry : entries_) {
    if (entry.subject.Matches(caller)) return &entry.grant;
  }
  return nullptr;
}

}  // namespace sbump
