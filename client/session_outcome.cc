#include "client/session_outcome.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "client/printable.h"
#include "client/proof_text.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// The daemon may add words to a reason, as in "target exited (status 1)".
bool BeginsWithOneOf(const std::string& reason, std::initializer_list<std::string_view> reasons) {
  return std::any_of(reasons.begin(), reasons.end(),
                     [&](std::string_view known) { return reason.starts_with(known); });
}

bool NothingMatched(const v1::SessionUpdate& head) {
  if (head.end().no_match()) return true;
  const auto& patterns = head.patterns();
  return !patterns.empty() && std::all_of(patterns.begin(), patterns.end(),
                                          [](const auto& p) { return p.status() == v1::NO_MATCH; });
}

Outcome OfEnd(const v1::SessionUpdate& head) {
  const v1::SessionEnd& end = head.end();
  const std::string& reason = end.reason();
  if (!ProofIsClean(end.detach_proof())) {
    return {ExitCode::kError,
            StrCat("something was left in the process: ", ProofText(end.detach_proof()),
                   "; restart sbumpd, which cleans up what its journal names")};
  }
  if (BeginsWithOneOf(reason, {"target exited", "target called exec"})) {
    return {ExitCode::kTargetEnded, StrCat("pid ", head.process().pid(), ": ", reason)};
  }
  if (reason.starts_with("daemon shutting down")) {
    return {ExitCode::kUnreachable, "the daemon was shut down; it detached first"};
  }
  if (BeginsWithOneOf(reason, {"guardrail:", "policy:"})) {
    return {ExitCode::kGuardrail, StrCat("the session ended: ", Printable(reason))};
  }
  if (reason.starts_with("revoked by a new policy")) {
    return {ExitCode::kPermission, StrCat("the session ended: ", Printable(reason))};
  }
  if (!BeginsWithOneOf(reason, {"client gone", "detached", "duration over", "ttl over"})) {
    return {ExitCode::kError, StrCat("the session ended: ", Printable(reason))};
  }
  if (NothingMatched(head)) {
    return {ExitCode::kNoMatch,
            "no pattern matched; see `sbumpctl match`, for modules `sbumpctl modules`"};
  }
  return {};
}

Outcome OfInterrupted(const v1::SessionUpdate& head, const StreamEnd& end) {
  if (head.session_id().empty() && end.leaves_running) {
    return {ExitCode::kOk,
            "interrupted before the daemon began a session; what it may begin yet goes on: see "
            "`sbumpctl list`"};
  }
  if (end.leaves_running) {
    return {ExitCode::kOk, StrCat("session ", Printable(head.session_id()),
                                  " goes on; `sbumpctl "
                                  "detach ",
                                  Printable(head.session_id()), "` ends it")};
  }
  if (head.session_id().empty()) {
    return {ExitCode::kOk,
            "interrupted before the daemon began a session; what it may begin yet it ends at once"};
  }
  return {ExitCode::kError,
          "given up before the daemon had detached: the last totals and the proof are not known; "
          "see `sbumpctl list`"};
}

// The stream ended without a last update.
Outcome OfBrokenStream(const v1::SessionUpdate& head, const StreamEnd& end) {
  if (end.status.ok()) {
    return {ExitCode::kError, "the daemon closed the stream without a last update"};
  }
  const bool began = !head.session_id().empty();
  const ExitCode code = ExitCodeFor(end.status, Subject::kProcess);
  if (began && code == ExitCode::kUnreachable) {
    return {code, StrCat("lost the daemon: ", end.status.message(),
                         ". The process runs on, at full speed once the daemon's probes are gone "
                         "(the kernel removes them with the daemon); start sbumpd again to clean "
                         "up what it armed")};
  }
  return {code, std::string(end.status.message())};
}

}  // namespace

Outcome AttachOutcome(const v1::SessionUpdate& head, const StreamEnd& end) {
  if (head.has_end()) return OfEnd(head);
  if (end.interrupts > 0 && end.status.code() == absl::StatusCode::kCancelled) {
    return OfInterrupted(head, end);
  }
  return OfBrokenStream(head, end);
}

Outcome WatchOutcome(const v1::SessionUpdate& head, const StreamEnd& end) {
  if (head.has_end()) return {};
  if (end.interrupts > 0 && end.status.code() == absl::StatusCode::kCancelled) return {};
  Outcome outcome = OfBrokenStream(head, end);
  if (end.status.code() == absl::StatusCode::kNotFound) outcome.code = ExitCode::kNoSession;
  return outcome;
}

}  // namespace sbump
