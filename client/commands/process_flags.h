// Which processes a command is about, how their threads are delayed, and what is too much for them:
// what attach and experiments have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "proto/sbump/v1/control.pb.h"

namespace sbump {

struct ProcessFlags {
  int32_t pid = 0;
  std::string container, cgroup, exe, cmdline;
  bool children = false;
  uint32_t max_processes = 0;
  std::string mode = "spin";
  std::string on = "call";
  std::optional<uint64_t> max_stop_ns;
  uint64_t max_calls_per_second = 0;  // 0: no limit; likewise below
  uint32_t max_duty_percent = 0;
  std::optional<uint64_t> max_hold_ns;

  bool Sleeps() const { return mode == "sleep"; }
  bool HasSelector() const {
    return !container.empty() || !cgroup.empty() || !exe.empty() || !cmdline.empty();
  }
};

void AddProcessFlags(CLI::App* app, ProcessFlags* flags);
void AddModeFlags(CLI::App* app, ProcessFlags* flags);
void AddGuardrailFlags(CLI::App* app, ProcessFlags* flags);

// kInvalidArgument: none is named, or in two ways.
absl::Status CheckProcessFlags(const ProcessFlags& flags);

void TakeProcesses(const ProcessFlags& flags, v1::AttachRequest* request);

}  // namespace sbump
