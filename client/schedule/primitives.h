// What can be done at a module: the vocabulary of schedules, in one registry.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/schedule/schedule_tree.h"
#include "daemon/base/status.h"
#include "proto/sbump/v1/control.pb.h"

namespace sbump {

// One entry of a schedule: what is done at the modules that its pattern takes.
struct ScheduleEntry {
  std::string pattern;               // as of attach --module, without overrides
  std::optional<uint64_t> delay_ns;  // delay
  std::optional<uint64_t> sample;    // sample: every Nth call is delayed
  bool count = false;                // count
  bool span = false;                 // span
  std::optional<bool> shapes;        // shapes: of the tensors of its spans
  bool skip = false;                 // skip
  bool until = false;                // until
  std::string tag;                   // tag

  // Its modules are targets of a session; others are only left alone.
  bool IsTarget() const { return delay_ns || sample || count || span || !tag.empty(); }
};

// What a schedule can say of an entry's modules.
class Primitive {
 public:
  virtual ~Primitive() = default;
  virtual std::string_view name() const = 0;   // the key in a file
  virtual std::string_view value() const = 0;  // "DURATION"
  virtual std::string_view text() const = 0;
  // Of a file: throws as strict_yaml.h does.
  virtual void Read(const YAML::Node& value, ScheduleEntry& entry) const = 0;
  // Back: nothing where the entry does not have it.
  virtual std::optional<std::string> Write(const ScheduleEntry& entry) const = 0;
  // Asks the daemon for it, of an entry that has it. Where the entry's modules are targets, theirs
  // is the last one of the request. The second argument: the nodes of the model. kInvalidArgument:
  // not of this model.
  virtual absl::Status Apply(const ScheduleEntry&, const std::vector<ScheduleNode>&,
                             v1::AttachRequest&) const {
    return absl::OkStatus();  // what the daemon does anyway, or knows nothing of
  }
};
std::span<const Primitive* const> Primitives();

// Those of slapo.schedule that there are not, and why.
struct MissingPrimitive {
  std::string_view name;
  std::string_view why;
};
std::span<const MissingPrimitive> MissingPrimitives();

}  // namespace sbump
