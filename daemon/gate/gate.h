// What every call passes before it is served: who asks, what the policy says, and the record of it.
//
// All of it may be called from any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/audit/audit_log.h"
#include "daemon/base/limited_log.h"
#include "daemon/base/status.h"
#include "daemon/gate/admission.h"
#include "daemon/gate/duty_ledger.h"
#include "daemon/gate/refusal_log.h"
#include "daemon/metrics/meters.h"
#include "daemon/policy/decide.h"
#include "daemon/session/attach_spec.h"

namespace sbump {

struct GateOptions {
  std::string policy_file;  // empty: root alone
  std::string audit_file;   // empty: no audit log
};

class Gate {
 public:
  // kInvalidArgument, "FILE:LINE: what", for a policy with a mistake in it.
  static absl::StatusOr<std::unique_ptr<Gate>> Open(const GateOptions& options, Meters& meters);

  // Takes the policy and the audit log anew. What the new policy does not allow any more ends. A
  // policy that cannot be read leaves the old one in force.
  void Reload();

  // Refusals are counted, and recorded with the session where there is one. Does not block.
  absl::Status Allow(const Caller& caller, const AccessRequest& request,
                     const std::string& session_id = "");
  // The same for a session of this daemon.
  absl::Status AllowSession(const Caller& caller, Action action, const std::string& session_id,
                            uint64_t delay_ns = 0);
  absl::Status AllowUpdate(const Caller& caller, const std::string& session_id,
                           const TargetRules& before, const RulesChange& change);
  // Without a refusal's consequences: what a list shows.
  bool MaySee(const Caller& caller, const std::string& session_id) const;
  // What `detach --all` is about.
  bool MayEnd(const Caller& caller, const std::string& session_id) const;
  // "viewer", "operator".
  std::optional<Role> RoleOf(const Caller& caller) const;  // nothing: none

  // Records an update before it is made (kResourceExhausted where that fails), with the rules that
  // it leads to; or a detach.
  absl::Status NoteUpdate(const Caller& caller, const std::string& session_id,
                          const TargetRules& after);
  void NoteDetach(const Caller& caller, const std::string& session_id);

  // Authorises the process of a dry run, and records it.
  Authorise MatchAuthoriser(const Caller& caller, uint64_t max_stop_ns);
  // Authorises a process that is only read: `action` is doctor's, or that of `modules`. Recorded
  // where the process may be stopped.
  Authorise ReadAuthoriser(const Caller& caller, Action action, uint64_t max_stop_ns = 0);

  // A session may begin: `spec` is completed by what the gate wants to know while it runs. The
  // caller then tells the admission of the session, of its snapshots, and of its end.
  absl::StatusOr<std::shared_ptr<Admission>> Admit(const Caller& caller, AttachSpec& spec);

  // Ends the stream of somebody who may not watch the session any more, at a reload or when a
  // process comes to it. Until the returned value is gone. `action`: what the stream needs.
  struct Watch;
  std::shared_ptr<Watch> KeepWatch(const Caller& caller, const std::string& session_id,
                                   std::function<void(absl::Status)> end,
                                   Action action = Action::kWatch);
  // All of them, as the daemon ends.
  void EndWatches(const absl::Status& why);
  // Asked before each snapshot (or spans) is shown, one after the other. Does not block.
  bool MayShow(Watch& watch);

 private:
  friend class Admission;

  Gate(GateOptions options, Meters& meters);
  std::shared_ptr<const Policy> policy() const;
  std::shared_ptr<Admission> Find(const std::string& session_id) const;
  absl::Status Refuse(const Caller& caller, const AccessRequest& request, const Refusal& refusal,
                      const std::string& session_id);
  absl::Status Record(const AuditRecord& record);
  absl::Status Recorded(std::string_view event, const absl::Status& written);
  std::optional<Refusal> DecideSession(const Policy& policy, const Caller& caller, Action action,
                                       const Admission* admission, uint64_t delay_ns) const;
  void EndWhatIsRevoked();
  std::vector<std::shared_ptr<Watch>> Watches() const;  // needs mutex_
  size_t SessionsOf(const std::string& owner) const;    // needs mutex_
  void Forget(const Admission& over);

  const GateOptions options_;
  Meters& meters_;
  LimitedLog refusal_lines_{LogLevel::kWarning, "refused"};
  std::unique_ptr<AuditLog> audit_;       // null: none
  std::unique_ptr<RefusalLog> refusals_;  // where there is an audit log; after it
  DutyLedger duties_;

  mutable std::mutex mutex_;
  std::shared_ptr<const Policy> policy_;            // guarded by mutex_
  std::vector<std::weak_ptr<Admission>> admitted_;  // guarded by mutex_
  std::vector<std::weak_ptr<Watch>> watches_;       // guarded by mutex_
};

}  // namespace sbump
