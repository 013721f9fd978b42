// What an experiment is made on: the processes of a session, or a fake of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/processor_time.h"
#include "daemon/base/status.h"
#include "daemon/estimate/recording.h"

namespace sbump {

// One process at one moment; all counters are since it came to the session.
struct ProcessMark {
  size_t number = 0;      // stays with it
  uint64_t at_ns = 0;     // CLOCK_MONOTONIC; of one that has ended the time of its end
  uint64_t since_ns = 0;  // CLOCK_MONOTONIC: from when on its calls were counted
  uint64_t units = 0;     // calls of the metric's function; 0 where the client samples the metric
  uint64_t last_unit_ns = 0;  // CLOCK_MONOTONIC: when the last of them began; 0: none yet
  std::vector<GroupFigures> groups;
};

using Mark = std::vector<ProcessMark>;

// What a group's patterns take, in all processes so far.
struct GroupTargets {
  size_t functions = 0;        // that are this group's
  std::vector<uint64_t> hits;  // of each of them so far
  // How many that it would take, too, are in another group: the first that takes one has it.
  std::map<size_t, size_t> in_others;
  // A sentence for each pattern that takes nothing, without a full stop.
  std::vector<std::string> unmatched;

  bool is_loaded_nowhere() const {
    return functions == 0 && in_others.empty() && !unmatched.empty();
  }
};

// Of a histogram, the one that a quantile was found in.
struct LatencyBucket {
  double lower_ns = 0;
  double upper_ns = 0;

  double width_ns() const { return upper_ns - lower_ns; }
};

// All methods are called on the experiment's thread. An error means that the experiment is over,
// and says why.
class Specimen {
 public:
  virtual ~Specimen() = default;

  virtual uint64_t NowNs() const = 0;  // CLOCK_MONOTONIC
  // In force in all processes when it returns.
  virtual absl::Status Switch(const Arm& arm) = 0;
  virtual absl::StatusOr<Mark> TakeMark() = 0;
  virtual absl::Status WaitUntil(uint64_t at_ns) = 0;

  // Of the machine that it runs on; zeros where that is not known.
  virtual ProcessorTime MachineTime() const { return {}; }
  // Of each group; of none where that is not to be told.
  virtual absl::StatusOr<std::vector<GroupTargets>> FindTargets() {
    return std::vector<GroupTargets>();
  }
  // Where marks have no units: the work of a window that is over; or its flaw.
  virtual absl::Status AddWork(Window&) { return absl::OkStatus(); }
  // Where the metric is a quantile: that of the last window which AddWork() found one in.
  virtual std::optional<LatencyBucket> LastBucket() const { return std::nullopt; }
  // Of shorter ones too little is known.
  virtual uint64_t ShortestWindowNs() const { return 0; }
};

}  // namespace sbump
