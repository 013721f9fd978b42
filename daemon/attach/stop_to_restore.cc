#include "daemon/attach/stop_to_restore.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Enough for some instructions, and hardly more.
constexpr auto kPause = std::chrono::microseconds(200);

bool IsCounting(const PtraceStop& stop, const Interpreter& interpreter) {
  const std::vector<uint64_t>& counting = interpreter.file->sites.hit.counting;
  return std::ranges::any_of(stop.instruction_pointers(), [&](uint64_t next) {
    return std::ranges::binary_search(counting, next - interpreter.load_bias);
  });
}

}  // namespace

absl::StatusOr<PtraceStop> StopToRestore(const TargetProcess& process,
                                         const Interpreter& interpreter,
                                         std::chrono::nanoseconds limit,
                                         const std::function<void(const PtraceStop&)>& let_go) {
  const uint64_t deadline_ns = MonotonicNs() + static_cast<uint64_t>(limit.count());
  while (true) {
    SB_ASSIGN_OR_RETURN(PtraceStop stop, PtraceStop::StopAll(process, limit));
    if (!IsCounting(stop, interpreter)) return stop;
    stop.Resume();
    if (let_go) let_go(stop);
    if (MonotonicNs() >= deadline_ns) {
      return absl::DeadlineExceededError(
          ToAbsl(StrCat("pid ", process.pid(),
                        ": a thread of it stands where it counts a call; the process is stopped "
                        "(SIGSTOP?): let it go on and try again")));
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace sbump
