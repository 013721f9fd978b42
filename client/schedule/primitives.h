// What can be done at a module: the vocabulary of schedules, in one registry.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

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

struct Primitive {
  std::string_view name;
  std::string_view value;  // "DURATION"
  std::string_view text;
  // Of a file: throws as strict_yaml.h does.
  void (*read)(const YAML::Node& value, ScheduleEntry& entry);
  // Back: nothing where the entry does not have it.
  std::optional<std::string> (*write)(const ScheduleEntry& entry);
};
std::span<const Primitive> Primitives();

// Those of slapo.schedule that there are not, and why.
struct MissingPrimitive {
  std::string_view name;
  std::string_view why;
};
std::span<const MissingPrimitive> MissingPrimitives();

}  // namespace sbump
