// Pages that may never come: of files on file systems that a server must answer for (FUSE,
// network), where they are not in memory. Who reads one through /proc/PID/mem waits with the
// process's memory locked (__access_remote_vm() in mm/memory.c, Linux 6.18): the process cannot map
// any more, and whoever places a probe in a file that it maps waits for it while no process of the
// machine can fork. So they are not read.
//
// A process that means harm can map such a file, or drop its pages, between the look and the read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"
#include "daemon/process/proc_maps.h"

namespace sbump {

// Device number -> whether its file system may never answer, of /proc/PID/mountinfo.
std::map<uint64_t, bool> ParseMountinfo(std::string_view text);

class SilentPages {
 public:
  static absl::StatusOr<SilentPages> Open(int proc_dirfd, pid_t pid);

  // kDataLoss where such a page is among these bytes, of which there is at least one. What is
  // mapped is looked up at most every 250 ms, and not for a few bytes that are in memory.
  absl::Status Check(RemoteAddr addr, size_t size) const;

 private:
  struct State {
    std::mutex mutex;
    uint64_t looked_ns = 0;          // guarded by mutex
    std::vector<Mapping> may_never;  // guarded by mutex
  };

  SilentPages(Fd dir, Fd pagemap, pid_t pid)
      : dir_(std::move(dir)),
        pagemap_(std::move(pagemap)),
        pid_(pid),
        state_(std::make_unique<State>()) {}
  absl::Status Look(State& state) const;
  bool InMemory(uint64_t begin, uint64_t end) const;

  Fd dir_;
  Fd pagemap_;
  pid_t pid_;
  std::unique_ptr<State> state_;
};

}  // namespace sbump
