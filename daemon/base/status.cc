#include "daemon/base/status.h"

#include <cerrno>
#include <system_error>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

absl::StatusCode CodeFor(int error_number) {
  switch (error_number) {
    case EPERM:
    case EACCES:
      return absl::StatusCode::kPermissionDenied;
    case ENOENT:
    case ESRCH:
      return absl::StatusCode::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    case EEXIST:
    case EADDRINUSE:
      return absl::StatusCode::kAlreadyExists;
    case EINVAL:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status ErrnoStatus(int error_number, std::string_view what) {
  return absl::Status(CodeFor(error_number),
                      StrCat(what, ": ", std::generic_category().message(error_number)));
}

absl::Status Annotate(const absl::Status& status, std::string_view prefix) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(), StrCat(prefix, ": ", status.message()));
  status.ForEachPayload([&annotated](absl::string_view type, const absl::Cord& payload) {
    annotated.SetPayload(type, payload);
  });
  return annotated;
}

}  // namespace sbump
