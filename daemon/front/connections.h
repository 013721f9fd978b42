// The connections that the front door has let in, and whose they are.
//
// gRPC is told of a connection's other end only by its name, which is made here: 128 random bits of
// the connection's own, and a number that is never used twice. So a call that gRPC delivers late,
// when its connection is gone and the descriptor belongs to somebody else, finds nobody instead of
// the wrong one. And nobody can take the name of a connection to come: all may read those that
// there are (/proc/net/unix), which say nothing of the next.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "daemon/base/status.h"
#include "daemon/policy/caller.h"

namespace sbump {

// From any thread.
class Connections {
 public:
  static constexpr size_t kMost = 4096;
  static constexpr size_t kMostOfOneCaller = 1024;
  // Beyond kMost: for root on the local socket, who must be able to end things.
  static constexpr size_t kSpareForRoot = 64;

  // Its number, from now on `caller`'s. kResourceExhausted above the limits.
  absl::StatusOr<uint64_t> Add(Caller caller);
  void Remove(uint64_t number);

  // The abstract Unix name of our end of the connection, without the leading zero byte. Empty when
  // it is gone.
  std::string NameOf(uint64_t number) const;

  // `peer` as grpc::ServerContextBase::peer() gives it. kUnauthenticated when no connection that is
  // still open has it.
  absl::StatusOr<Caller> Find(std::string_view peer) const;

  size_t size() const;

 private:
  struct Open {
    std::string name;  // "sbump-5f1e…-7"
    Caller caller;
  };

  size_t CountOf(const std::string& owner) const;

  mutable std::mutex mutex_;
  std::map<uint64_t, Open> open_;                 // guarded by mutex_
  std::map<std::string, size_t> count_by_owner_;  // guarded by mutex_
  uint64_t next_ = 1;                             // guarded by mutex_
};

}  // namespace sbump
