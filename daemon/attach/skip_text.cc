#include "daemon/attach/skip_text.h"

namespace sbump {

std::string_view SkipReasonText(sb_skip reason) {
  switch (reason) {
    case SB_SKIP_RING_FULL:
      return "the daemon could not be told of a code object: ring buffer full";
    case SB_SKIP_HOLDS_BUSY:
      return "too many threads waited for the daemon at once: a first call went on undelayed";
    case SB_SKIP_HOLD_TIMEOUT:
      return "the daemon answered too late: a first call went on undelayed";
    case SB_SKIP_PENDING_FULL:
      return "a call could not be attributed: table of unresolved code objects full";
    case SB_SKIP_UNREADABLE:
      return "a code object could not be read at the probe";
    case SB_SKIP_THREADS_FULL:
      return "threads_seen is a lower bound: table of threads full";
    case SB_SKIP_ADDRESS_REUSED:
      return "a code object's address was used again";
    case SB_SKIP_ABORTED_DELAY:
      return "a delay was cut short by a signal, a stop or the end of the session";
    case SB_SKIP_NOT_CODE:
      return "the object at the probe is no code object";
    case SB_SKIP_DEATH_UNTOLD:
      return "the end of a code object was not told: ring buffer full (the counts are right)";
    case SB_SKIP_UNKNOWN_SITE:
      return "a native function was called at an address that was not known yet: its library was "
             "loaded again";
    case SB_SKIP_NO_BED:
      return "too many threads sleep at once: a delay was a spin, cut short at 0.2s";
    case SB_SKIP_NOT_HELD:
      return "the daemon could not hold a thread (it is traced, or the machine is busy): a delay "
             "was a spin, cut short at 0.2s";
    case SB_SKIP_INTRODUCTION_LOST:
      return "a code object went by unseen: no memory for the table of threads";
    case SB_SKIP_MODULE_GONE:
      return "at a module's address was an object of another type: the module is gone";
    case SB_SKIP_REASONS:
      break;
  }
  return "unknown";
}

}  // namespace sbump
