#include "daemon/front/connections.h"

#include <sys/random.h>

#include <charconv>

#include "absl/strings/str_cat.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr std::string_view kScheme = "unix-abstract:";

uint64_t RandomWord() {
  uint64_t word = 0;
  // Eight bytes are never cut short, and never wait once the machine is up (getrandom(2)).
  while (getrandom(&word, sizeof(word), 0) != sizeof(word)) {
  }
  return word;
}

bool IsLocalRoot(const Caller& caller) { return caller.IsLocal() && caller.uid == 0; }

}  // namespace

Connections::Connections()
    : prefix_(absl::StrCat("sbump-", absl::Hex(RandomWord(), absl::kZeroPad16), "-")) {}

absl::StatusOr<uint64_t> Connections::Add(Caller caller) {
  const std::string owner = OwnerKey(caller);
  const bool root = IsLocalRoot(caller);
  std::lock_guard lock(mutex_);
  if (callers_.size() >= kMost + (root ? kSpareForRoot : 0)) {
    return absl::ResourceExhaustedError(
        StrCat("this daemon has ", callers_.size(), " connections, the most it takes"));
  }
  if (!root && CountOf(owner) >= kMostOfOneCaller) {
    return absl::ResourceExhaustedError(
        StrCat(owner, " has ", kMostOfOneCaller, " connections, the most that one caller may"));
  }
  const uint64_t number = next_++;
  caller.connection = number;
  ++count_by_owner_[owner];
  callers_.emplace(number, std::move(caller));
  return number;
}

size_t Connections::CountOf(const std::string& owner) const {
  const auto found = count_by_owner_.find(owner);
  return found == count_by_owner_.end() ? 0 : found->second;
}

void Connections::Remove(uint64_t number) {
  std::lock_guard lock(mutex_);
  const auto found = callers_.find(number);
  if (found == callers_.end()) return;
  const auto count = count_by_owner_.find(OwnerKey(found->second));
  if (--count->second == 0) count_by_owner_.erase(count);
  callers_.erase(found);
}

std::string Connections::NameOf(uint64_t number) const { return StrCat(prefix_, number); }

absl::StatusOr<Caller> Connections::Find(std::string_view peer) const {
  const absl::Status nobody = absl::UnauthenticatedError("the connection of this call is gone");
  if (!peer.starts_with(kScheme)) return nobody;
  peer.remove_prefix(kScheme.size());
  if (!peer.starts_with(prefix_)) return nobody;
  peer.remove_prefix(prefix_.size());
  uint64_t number = 0;
  const auto [stop, error] = std::from_chars(peer.data(), peer.data() + peer.size(), number);
  if (error != std::errc() || stop != peer.data() + peer.size()) return nobody;
  std::lock_guard lock(mutex_);
  const auto found = callers_.find(number);
  if (found == callers_.end()) return nobody;
  return found->second;
}

size_t Connections::size() const {
  std::lock_guard lock(mutex_);
  return callers_.size();
}

}  // namespace sbump
