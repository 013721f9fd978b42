// A schedule as a file, in YAML or JSON:
//
//   version: 1
//   root: torch.nn.Module      # the class of the tree (this one where it is absent)
//   prefix: top                # the path of the model itself (this one where it is absent)
//   callables: [app.Piece]     # classes of callables that are no modules, as --callable names them
//   mode: spin                 # or sleep: as attach --mode (spin where it is absent)
//   schedule:
//     - module: 're:top\.layers\.17\.'
//       delay: 100us
//       sample: 2
//     - {module: type:Dropout, skip: true}
//
// `module` is a pattern as of `attach --module`; every other key is a primitive (primitives.h). Of
// delay, sample and tag the first entry that takes a module counts; of span, skip and until all do.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/schedule/primitives.h"
#include "client/schedule/schedule_tree.h"
#include "proto/sbump/v1/control.pb.h"

namespace sbump {

struct Schedule {
  std::string root;
  std::optional<std::string> prefix;
  std::vector<std::string> callables;
  bool sleep = false;  // mode
  std::vector<ScheduleEntry> entries;
};

inline constexpr size_t kMostEntries = 1000;  // as many as sbumpd takes

// kInvalidArgument, "FILE:LINE: why".
absl::StatusOr<Schedule> ParseSchedule(const std::string& file, std::string_view text);
// ParseSchedule() gives an equal one, of each.
std::string TextOf(const Schedule& schedule);
boost::json::object JsonOf(const Schedule& schedule);

// What the schedule asks of the daemon: `selection` and `spans` of the request. `nodes`: the
// model's. kInvalidArgument: an `until` that names none of them.
absl::Status Apply(const Schedule& schedule, const std::vector<ScheduleNode>& nodes,
                   v1::AttachRequest& request);

}  // namespace sbump
