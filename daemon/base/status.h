// absl::Status with the two macros that Debian's libabsl lacks, and errno in words.
//
// What each code means here, from the target's memory up to the client's exit code:
//   kInvalidArgument     the request itself is wrong (bad pattern, bad number)
//   kNotFound            no such process, or it ended
//   kUnimplemented       the process is not an interpreter that sbump supports
//   kFailedPrecondition  the kernel or the process's state does not allow it
//   kPermissionDenied    the daemon (or the caller) lacks a right
//   kAlreadyExists       another session holds the process
//   kResourceExhausted   a limit, a full disk
//   kDataLoss            the target's memory contradicts itself: read but not believable
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sbump {

// "pid 12: open /proc/12/maps: Permission denied", with the code that fits the errno.
absl::Status ErrnoStatus(int error_number, std::string_view what);

// The same status with `prefix` and ": " before its message. OK stays OK.
absl::Status Annotate(const absl::Status& status, std::string_view prefix);

}  // namespace sbump

#define SB_CONCAT_INNER(a, b) a##b
#define SB_CONCAT(a, b) SB_CONCAT_INNER(a, b)

#define SB_RETURN_IF_ERROR(expr)                                            \
  do {                                                                      \
    if (absl::Status sb_status = (expr); !sb_status.ok()) return sb_status; \
  } while (false)

#define SB_ASSIGN_OR_RETURN(lhs, expr) \
  SB_ASSIGN_OR_RETURN_IMPL(SB_CONCAT(sb_or_, __LINE__), lhs, expr)
#define SB_ASSIGN_OR_RETURN_IMPL(var, lhs, expr) \
  auto var = (expr);                             \
  if (!var.ok()) return var.status();            \
  lhs = std::move(*var)
