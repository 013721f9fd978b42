#include "daemon/policy/decide.h"

#include <algorithm>

#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

bool NeedsOperator(Action action) {
  return action == Action::kAttach || action == Action::kUpdate || action == Action::kDetach;
}

bool AnyMatches(const std::vector<Glob>& globs, std::string_view text) {
  return std::any_of(globs.begin(), globs.end(),
                     [text](const Glob& glob) { return glob.Matches(text); });
}

uint64_t ShareOfASecondNs(double share) { return static_cast<uint64_t>(1e9 * share + 0.5); }

// Each refusal ends with the place in the policy that decided.
class Decision {
 public:
  Decision(const Caller& caller, const Grant& grant, const AccessRequest& request)
      : caller_(caller), grant_(grant), limits_(grant.limits), request_(request) {}

  std::optional<Refusal> Make() const {
    if (NeedsOperator(request_.action) && grant_.role != Role::kOperator)
      return No(RefusalReason::kRole,
                StrCat("is a viewer, and ", NameOf(request_.action), " takes an operator"));
    if (auto refusal = JudgeOwner()) return refusal;
    if (request_.target != nullptr) {
      if (auto refusal = JudgeTarget(*request_.target)) return refusal;
    }
    return JudgeSize();
  }

 private:
  std::optional<Refusal> JudgeOwner() const {
    if (!NeedsOperator(request_.action) || grant_.others_sessions || !request_.owner ||
        *request_.owner == OwnerKey(caller_)) {
      return std::nullopt;
    }
    return No(RefusalReason::kOwner,
              StrCat("may ", NameOf(request_.action), " its own sessions only, and this one is of ",
                     *request_.owner));
  }

  std::optional<Refusal> JudgeTarget(const TargetFacts& target) const {
    const auto no = [&](std::string_view what) {
      return No(RefusalReason::kTarget, StrCat("may not touch pid ", target.pid, ": ", what));
    };
    if (limits_.target_uids) {
      for (const uid_t uid : target.uids) {
        if (limits_.target_uids->count(uid) == 0)
          return no(
              StrCat("it runs with the rights of uid ", uid, ", which is none of target_uids"));
      }
    }
    if (limits_.cgroups && !AnyMatches(*limits_.cgroups, target.cgroup))
      return no(StrCat("its cgroup ", target.cgroup, " matches none of cgroups"));
    if (limits_.cmdlines && !AnyMatches(*limits_.cmdlines, target.cmdline))
      return no("its command line matches none of cmdlines");
    return std::nullopt;
  }

  std::optional<Refusal> JudgeSize() const {
    const auto above = [&](RefusalReason reason, std::string_view what, uint64_t ns,
                           uint64_t most_ns) {
      return No(reason, StrCat("asks for ", what, " of ", FormatDuration(ns), ", and the most is ",
                               FormatDuration(most_ns)));
    };
    if (limits_.max_delay_ns && request_.delay_ns > *limits_.max_delay_ns)
      return above(RefusalReason::kDose, "a delay", request_.delay_ns, *limits_.max_delay_ns);
    // One alone would be above it, and nobody knows of a sleep before it is over.
    if (limits_.max_duty && request_.delay_ns > ShareOfASecondNs(*limits_.max_duty)) {
      return No(RefusalReason::kDuty,
                StrCat("asks for a delay of ", FormatDuration(request_.delay_ns),
                       ", and max_duty leaves ",
                       FormatDuration(ShareOfASecondNs(*limits_.max_duty)), " of a second"));
    }
    if (limits_.max_ttl_ns && request_.ttl_ns > *limits_.max_ttl_ns)
      return above(RefusalReason::kTime, "a ttl", request_.ttl_ns, *limits_.max_ttl_ns);
    if (request_.max_stop_ns > limits_.max_stop_ns)
      return above(RefusalReason::kTime, "a stop", request_.max_stop_ns, limits_.max_stop_ns);
    if (limits_.max_sessions && request_.action == Action::kAttach &&
        request_.sessions >= *limits_.max_sessions) {
      return No(
          RefusalReason::kSessions,
          StrCat("has ", request_.sessions, " sessions, and the most is ", *limits_.max_sessions));
    }
    return std::nullopt;
  }

  Refusal No(RefusalReason reason, const std::string& words) const {
    return {reason, StrCat("policy: ", OwnerKey(caller_), " ", words, " (", grant_.source, ")")};
  }

  const Caller& caller_;
  const Grant& grant_;
  const Limits& limits_;
  const AccessRequest& request_;
};

}  // namespace

std::string_view NameOf(Action action) {
  switch (action) {
    case Action::kInfo:
      return "info";
    case Action::kList:
      return "list";
    case Action::kWatch:
      return "watch";
    case Action::kMatch:
      return "match";
    case Action::kInspect:
      return "doctor";
    case Action::kModules:
      return "modules";
    case Action::kAttach:
      return "attach";
    case Action::kUpdate:
      return "update";
    case Action::kDetach:
      return "detach";
  }
  return "?";
}

std::string_view NameOf(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::kNobody:
      return "nobody";
    case RefusalReason::kRole:
      return "role";
    case RefusalReason::kOwner:
      return "owner";
    case RefusalReason::kTarget:
      return "target";
    case RefusalReason::kDose:
      return "dose";
    case RefusalReason::kTime:
      return "time";
    case RefusalReason::kSessions:
      return "sessions";
    case RefusalReason::kDuty:
      return "duty";
  }
  return "?";
}

absl::Status Refusal::ToStatus() const {
  return reason == RefusalReason::kSessions ? absl::ResourceExhaustedError(words)
                                            : absl::PermissionDeniedError(words);
}

std::optional<Refusal> Decide(const Policy& policy, const Caller& caller,
                              const AccessRequest& request) {
  const Grant* grant = policy.GrantOf(caller);
  if (grant != nullptr) return Decision(caller, *grant, request).Make();
  if (policy.is_file())
    return Refusal{RefusalReason::kNobody,
                   StrCat("policy: ", OwnerKey(caller), " has no role here")};
  return Refusal{RefusalReason::kNobody,
                 StrCat(OwnerKey(caller),
                        ": without a policy (sbumpd --policy FILE) this daemon "
                        "serves root alone")};
}

}  // namespace sbump
