// What the flags --targets, --target, --exclude and --paths-only select, checked here so that every
// mistake is told at once and before the daemon hears of it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/sbump/v1/control.pb.h"

namespace sbump {

struct SelectionFlags {
  std::string targets_file;  // empty: none
  std::vector<std::string> targets;
  std::vector<std::string> excludes;
  bool paths_only = false;

  bool HasTargets() const { return !targets_file.empty() || !targets.empty(); }
};

// Patterns given as flags come before those of the file: the first that matches owns a code object.
// An error has a line for each mistake: `FILE:LINE: "text": why`, `--target "text": why`.
absl::StatusOr<v1::TargetSelection> BuildSelection(const SelectionFlags& flags);

}  // namespace sbump
