// Looks at the modules of one process, one after the other, and what is different from one to the
// next.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/session/modules_run.h"
#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

class ModulesWatcher {
 public:
  explicit ModulesWatcher(ModulesSpec spec) : spec_(std::move(spec)) {}

  // What the next look is to ask for: models keep the names that the last one gave them.
  const ModulesSpec& spec() const { return spec_; }

  // What a client is to be told of a look: all of the first one, then what is different, by path.
  // Nothing is, or objects kept changing: empty. A process without a module has an empty tree.
  // Other errors are the watch's end; kNotFound: another process has its number by now.
  absl::StatusOr<std::vector<v1::ModulesUpdate>> Take(const absl::StatusOr<ModulesResult>& look);

 private:
  absl::Status CheckProcess(const ProcessInfo& process);

  ModulesSpec spec_;
  std::optional<uint64_t> start_ticks_;         // of the process
  std::optional<v1::ListModulesReply> before_;  // of the last look
};

// kInvalidArgument: it is none, or too short for a process that may be stopped at each look.
absl::StatusOr<uint64_t> ToLookInterval(const v1::WatchModulesRequest& request);

}  // namespace sbump
