#include "client/env_defaults.h"

#include <charconv>
#include <limits>
#include <string_view>

#include "client/limits.h"
#include "client/printable.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kMaxMs = std::numeric_limits<uint64_t>::max() / kNsPerMs;

std::optional<std::string> TextOf(const Environment& environment, const char* name) {
  const char* value = environment(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

// The variable, from `least` to `most`, times `factor`.
absl::StatusOr<std::optional<uint64_t>> NumberOf(const Environment& environment, const char* name,
                                                 uint64_t least, uint64_t most, uint64_t factor,
                                                 std::string_view unit) {
  const std::optional<std::string> text = TextOf(environment, name);
  if (!text) return std::optional<uint64_t>();
  uint64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most) {
    return absl::InvalidArgumentError(StrCat("environment variable ", name, "=\"", Printable(*text),
                                             "\": write a whole number of ", unit, ", from ", least,
                                             " to ", most));
  }
  return std::optional<uint64_t>(number * factor);
}

}  // namespace

absl::StatusOr<EnvDefaults> ReadEnvDefaults(const Environment& environment) {
  EnvDefaults defaults;
  defaults.targets_file = TextOf(environment, "SPEED_BUMP_TARGETS");
  SB_ASSIGN_OR_RETURN(defaults.delay_ns, NumberOf(environment, "SPEED_BUMP_DELAY_NS", 0,
                                                  kLongestSleepNs, 1, "nanoseconds"));
  SB_ASSIGN_OR_RETURN(defaults.every,
                      NumberOf(environment, "SPEED_BUMP_FREQUENCY", 1, kMaxEvery, 1, "calls"));
  SB_ASSIGN_OR_RETURN(defaults.start_ns, NumberOf(environment, "SPEED_BUMP_START_MS", 0, kMaxMs,
                                                  kNsPerMs, "milliseconds"));
  SB_ASSIGN_OR_RETURN(defaults.duration_ns, NumberOf(environment, "SPEED_BUMP_DURATION_MS", 0,
                                                     kMaxMs, kNsPerMs, "milliseconds"));
  return defaults;
}

}  // namespace sbump
