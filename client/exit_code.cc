#include "client/exit_code.h"

namespace sbump {
namespace {

constexpr ExitCodeText kTexts[] = {
    {ExitCode::kOk, "done; an attach ended by Ctrl-C or SIGTERM too"},
    {ExitCode::kError, "another error, also a detach that could not be proven clean"},
    {ExitCode::kBadArguments, "bad arguments"},
    {ExitCode::kBadTargets,
     "a targets file or a pattern that cannot be read; nothing was attached"},
    {ExitCode::kNoProcess, "no such process"},
    {ExitCode::kUnsupported, "the process runs no interpreter that sbump supports"},
    {ExitCode::kPermission, "a right is missing"},
    {ExitCode::kNoMatch,
     "no pattern matched anything by the end (attach), or of what is loaded (match, update)"},
    {ExitCode::kTargetEnded, "the process exited, or called exec, during the session"},
    {ExitCode::kUnreachable, "the daemon cannot be reached, or went away"},
    {ExitCode::kBusy, "another session holds the process"},
    {ExitCode::kNoSession, "no such session"},
    {ExitCode::kLimit, "a limit or a resource is exhausted"},
    {ExitCode::kPrecondition, "the kernel, or the state of the process, does not allow it"},
    {ExitCode::kPartial, "of several daemons some answered, and some did not"},
    {ExitCode::kGuardrail,
     "a guardrail (--max-rate, --max-duty, --max-hold; of an experiment, --lowest-throughput) "
     "or "
     "max_duty of the policy ended the session"},
    {ExitCode::kInvalid, "the experiment proves nothing, and says why (a control failed, ...)"},
};

}  // namespace

std::span<const ExitCodeText> ExitCodeTexts() { return kTexts; }

ExitCode ExitCodeFor(const absl::Status& status, Subject subject) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kOk;
    case absl::StatusCode::kInvalidArgument:
      return ExitCode::kBadArguments;
    case absl::StatusCode::kNotFound:
      return subject == Subject::kProcess ? ExitCode::kNoProcess : ExitCode::kNoSession;
    case absl::StatusCode::kUnimplemented:
      return ExitCode::kUnsupported;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return ExitCode::kPermission;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kUnreachable;
    case absl::StatusCode::kAlreadyExists:
      return ExitCode::kBusy;
    case absl::StatusCode::kResourceExhausted:
      return ExitCode::kLimit;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
      return ExitCode::kPrecondition;
    default:
      return ExitCode::kError;
  }
}

}  // namespace sbump
