#include "daemon/process/own_namespaces.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace sbump {
namespace {

// "1234": this process as /proc sees it.
std::string NumberInProc() {
  std::array<char, 32> number;
  const ssize_t size = readlink("/proc/self", number.data(), number.size());
  return size > 0 ? std::string(number.data(), static_cast<size_t>(size)) : "";
}

// "monotonic  SECONDS  NANOSECONDS" in /proc/self/timens_offsets (time_namespaces(7)).
bool ClockIsShifted() {
  std::ifstream offsets("/proc/self/timens_offsets");
  std::string clock;
  long seconds = 0, nanoseconds = 0;
  while (offsets >> clock >> seconds >> nanoseconds) {
    if (seconds != 0 || nanoseconds != 0) return true;
  }
  return false;
}

}  // namespace

uint32_t OwnPidNamespace() {
  struct stat found {};
  return stat("/proc/self/ns/pid", &found) == 0 ? static_cast<uint32_t>(found.st_ino) : 0;
}

absl::Status CheckOwnNamespaces() {
  const std::string number = NumberInProc();
  if (number.empty() || OwnPidNamespace() == 0) {
    return absl::FailedPreconditionError(
        "/proc is not mounted, or does not show this process; mount the proc file system of the "
        "pid namespace that sbumpd runs in");
  }
  if (number != absl::StrCat(getpid())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "/proc is that of another pid namespace: sbumpd is pid ", getpid(), " in its own and ",
        number,
        " there. Mount a /proc of its own for it (unshare --mount-proc), or let it share "
        "the machine's pid namespace (docker run --pid=host, hostPID: true)"));
  }
  if (ClockIsShifted()) {
    return absl::FailedPreconditionError(
        "sbumpd runs in a time namespace whose clocks differ from the kernel's, so it could not "
        "tell how long a delay is; run it outside of that");
  }
  return absl::OkStatus();
}

}  // namespace sbump
