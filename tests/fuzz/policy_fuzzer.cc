// libFuzzer over policy files: whatever stands in one, the answer is a policy or a mistake with a
// line, and a policy never gives more than what it says.
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/policy/decide.h"
#include "daemon/policy/policy_file.h"
#include "tests/fuzz/require.h"

namespace {

using sbump::AccessRequest;
using sbump::Action;
using sbump::Caller;

using sbump::Require;

void Judge(const sbump::Policy& policy, const Caller& caller) {
  const sbump::TargetFacts target{.pid = 7, .uids = {0, 1000}, .cgroup = "/a", .cmdline = "b c"};
  const sbump::Grant* grant = policy.GrantOf(caller);
  for (const Action action : {Action::kInfo, Action::kMatch, Action::kAttach, Action::kDetach}) {
    const AccessRequest plain{.action = action, .target = &target, .delay_ns = 1, .sessions = 1};
    AccessRequest more = plain;
    more.delay_ns = more.ttl_ns = more.max_stop_ns = UINT64_MAX;
    more.owner = "somebody";
    const auto refusal = sbump::Decide(policy, caller, plain);
    // Asking for more never helps.
    if (refusal) Require(sbump::Decide(policy, caller, more).has_value());
    Require(grant != nullptr || refusal.has_value());
    if (grant != nullptr && grant->role == sbump::Role::kViewer && action == Action::kAttach)
      Require(refusal.has_value());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<sbump::Policy> policy = sbump::ParsePolicy("f", text);
  if (!policy.ok()) {
    Require(absl::IsInvalidArgument(policy.status()));
    Require(policy.status().message().substr(0, 2) == "f:");
    return 0;
  }
  for (const uid_t uid : {0u, 1u, 1000u}) Judge(*policy, {.uid = uid, .groups = {uid, 5}});
  Judge(*policy, {.kind = Caller::Kind::kCertificate, .uid = 0, .names = {"dns:a"}});
  return 0;
}
