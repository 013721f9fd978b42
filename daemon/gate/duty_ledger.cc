#include "daemon/gate/duty_ledger.h"

namespace sbump {

bool DutyLedger::IsOld(const Entry& entry, uint64_t now_ns) {
  return now_ns > entry.last_ns + RateMeter::kWindowNs;
}

double DutyLedger::Add(const std::string& owner, const TargetId& target, uint64_t now_ns,
                       uint64_t taken_ns) {
  std::lock_guard lock(mutex_);
  Entry& entry = entries_[{owner, target}];
  // A pause is no part of a window: it would thin out what comes after it.
  if (IsOld(entry, now_ns)) {
    entry = {};
    entry.share.Add(now_ns, 0);
  }
  entry.last_ns = now_ns;
  entry.taken_ns += taken_ns;
  return entry.share.Add(now_ns, entry.taken_ns);
}

void DutyLedger::ForgetOld(uint64_t now_ns) {
  std::lock_guard lock(mutex_);
  std::erase_if(entries_, [now_ns](const auto& entry) { return IsOld(entry.second, now_ns); });
}

}  // namespace sbump
