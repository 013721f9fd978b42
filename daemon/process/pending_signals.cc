#include "daemon/process/pending_signals.h"

#include <charconv>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "daemon/process/proc_status.h"

namespace sbump {
namespace {

constexpr size_t kMaxStatusBytes = 16 * 1024;

constexpr uint64_t Bit(int signal_number) { return uint64_t{1} << (signal_number - 1); }

uint64_t SignalSet(const std::string& status, const std::string& key) {
  const std::string text = StatusField(status, key);
  uint64_t set = 0;
  std::from_chars(text.data(), text.data() + text.size(), set, 16);
  return set;
}

}  // namespace

uint64_t SignalsToTake(const std::string& status) {
  constexpr uint64_t kIgnoredByDefault = Bit(SIGCHLD) | Bit(SIGURG) | Bit(SIGWINCH) | Bit(SIGCONT);
  const uint64_t pending = SignalSet(status, "SigPnd") | SignalSet(status, "ShdPnd");
  const uint64_t ignored =
      SignalSet(status, "SigIgn") | (kIgnoredByDefault & ~SignalSet(status, "SigCgt"));
  return pending & ~SignalSet(status, "SigBlk") & ~ignored;
}

bool HasSignalToTake(const TargetProcess& process, pid_t tid) {
  const auto status = process.ReadProcFile(absl::StrCat("task/", tid, "/status"), kMaxStatusBytes);
  return status.ok() && SignalsToTake(*status) != 0;
}

}  // namespace sbump
