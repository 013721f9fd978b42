// What sbumpctl's exit status says. Scripts rely on these numbers: they never change meaning.
#pragma once

#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace sbump {

enum class ExitCode : int {
  kOk = 0,
  kError = 1,
  kBadArguments = 2,
  kBadTargets = 3,
  kNoProcess = 4,
  kUnsupported = 5,
  kPermission = 6,
  kNoMatch = 7,
  kTargetEnded = 8,
  kUnreachable = 9,
  kBusy = 10,
  kNoSession = 11,
  kLimit = 12,
  kPrecondition = 13,
  kPartial = 14,
  kGuardrail = 15,
  kInvalid = 16,
};

struct ExitCodeText {
  ExitCode code;
  std::string_view meaning;
};

// All of them, in order: what --help and the man pages print.
std::span<const ExitCodeText> ExitCodeTexts();

// What a call was about: decides what "not found" means.
enum class Subject { kProcess, kSession };

// The exit code of a refused or broken call. OK gives kOk.
ExitCode ExitCodeFor(const absl::Status& status, Subject subject);

}  // namespace sbump
