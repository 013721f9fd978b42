// What the flags --targets, --target, --exclude, --paths-only, --native and --module
// select, checked here so
// that every mistake is told at once and before the daemon hears of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/limits.h"
#include "proto/sbump/v1/control.pb.h"
#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

// Objects that are taken for modules, though they are none.
struct CallableFlags {
  std::vector<std::string> types;
  bool no_defaults = false;

  bool any() const { return !types.empty() || no_defaults; }
};

struct SelectionFlags {
  std::string targets_file;  // empty: none
  std::vector<std::string> targets;
  std::vector<std::string> excludes;
  bool paths_only = false;
  std::vector<std::string> natives;
  std::vector<std::string> modules;
  std::vector<std::string> module_excludes;
  std::string module_root;
  std::optional<std::string> module_prefix;
  CallableFlags callables;
  uint64_t longest_delay_ns = kLongestSleepNs;  // of an override

  bool HasTargets() const { return HasPatterns() || !natives.empty() || !modules.empty(); }
  bool HasPatterns() const { return !targets_file.empty() || !targets.empty(); }
  // Beside --module, about nothing without it.
  bool HasOptionsOfModules() const {
    return !module_excludes.empty() || !module_root.empty() || module_prefix || callables.any();
  }
};

// kInvalidArgument, beginning with `name` ("--delay 20ms"), above the limit.
absl::Status CheckDelay(std::string_view name, uint64_t delay_ns, uint64_t longest_ns);

// Patterns given as flags come before those of the file: the first that matches owns a code object.
// An error has a line for each mistake: `FILE:LINE: "text": why`, `--target "text": why`.
absl::StatusOr<v1::TargetSelection> BuildSelection(const SelectionFlags& flags);

// Adds what the flags say.
void TakeCallables(const CallableFlags& flags, v1::TargetSelection* selection);

// For the tree that such flags are about: all of its modules. `root` may be empty: torch.nn.Module.
v1::ListModulesRequest TreeRequest(int32_t pid, const std::string& root,
                                   const std::optional<std::string>& prefix,
                                   const CallableFlags& callables);

}  // namespace sbump
