#include "daemon/front/connections.h"

#include <sys/random.h>

#include <charconv>

#include "absl/strings/str_cat.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr std::string_view kScheme = "unix-abstract:";

std::string NewName(uint64_t number) {
  uint64_t words[2] = {};
  // So few bytes are never cut short, and never wait once the machine is up (getrandom(2)).
  while (getrandom(words, sizeof(words), 0) != sizeof(words)) {
  }
  return absl::StrCat("sbump-", absl::Hex(words[0], absl::kZeroPad16),
                      absl::Hex(words[1], absl::kZeroPad16), "-", number);
}

bool IsLocalRoot(const Caller& caller) { return caller.IsLocal() && caller.uid == 0; }

}  // namespace

absl::StatusOr<uint64_t> Connections::Add(Caller caller) {
  const std::string owner = OwnerKey(caller);
  const bool root = IsLocalRoot(caller);
  std::lock_guard lock(mutex_);
  if (open_.size() >= kMost + (root ? kSpareForRoot : 0)) {
    return absl::ResourceExhaustedError(
        StrCat("this daemon has ", open_.size(), " connections, the most it takes"));
  }
  if (!root && CountOf(owner) >= kMostOfOneCaller) {
    return absl::ResourceExhaustedError(
        StrCat(owner, " has ", kMostOfOneCaller, " connections, the most that one caller may"));
  }
  const uint64_t number = next_++;
  caller.connection = number;
  ++count_by_owner_[owner];
  open_.emplace(number, Open{NewName(number), std::move(caller)});
  return number;
}

size_t Connections::CountOf(const std::string& owner) const {
  const auto found = count_by_owner_.find(owner);
  return found == count_by_owner_.end() ? 0 : found->second;
}

void Connections::Remove(uint64_t number) {
  std::lock_guard lock(mutex_);
  const auto found = open_.find(number);
  if (found == open_.end()) return;
  const auto count = count_by_owner_.find(OwnerKey(found->second.caller));
  if (--count->second == 0) count_by_owner_.erase(count);
  open_.erase(found);
}

std::string Connections::NameOf(uint64_t number) const {
  std::lock_guard lock(mutex_);
  const auto found = open_.find(number);
  return found == open_.end() ? "" : found->second.name;
}

absl::StatusOr<Caller> Connections::Find(std::string_view peer) const {
  const absl::Status nobody = absl::UnauthenticatedError("the connection of this call is gone");
  if (!peer.starts_with(kScheme)) return nobody;
  peer.remove_prefix(kScheme.size());
  const std::string_view digits = peer.substr(peer.rfind('-') + 1);
  uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  std::lock_guard lock(mutex_);
  const auto found = open_.find(number);
  if (found == open_.end() || found->second.name != peer) return nobody;
  return found->second.caller;
}

size_t Connections::size() const {
  std::lock_guard lock(mutex_);
  return open_.size();
}

}  // namespace sbump
