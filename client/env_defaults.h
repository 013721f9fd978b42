// Speed Bump's environment variables as defaults of `attach`; flags win.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/terminal.h"

namespace sbump {

// Unset or empty variables are absent.
struct EnvDefaults {
  std::optional<std::string> targets_file;  // SPEED_BUMP_TARGETS: a targets file's path
  std::optional<uint64_t> delay_ns;         // SPEED_BUMP_DELAY_NS: a bare number of nanoseconds
  std::optional<uint64_t> every;            // SPEED_BUMP_FREQUENCY: delay every Nth call
  std::optional<uint64_t> start_ns;         // SPEED_BUMP_START_MS: a bare number of milliseconds
  std::optional<uint64_t> duration_ns;      // SPEED_BUMP_DURATION_MS: likewise
};

// kInvalidArgument where a value cannot be read; names the variable.
absl::StatusOr<EnvDefaults> ReadEnvDefaults(const Environment& environment);

}  // namespace sbump
