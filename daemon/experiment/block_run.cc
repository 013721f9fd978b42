#include "daemon/experiment/block_run.h"

#include "absl/cleanup/cleanup.h"
#include "daemon/base/processor_time.h"
#include "daemon/experiment/windows.h"

namespace sbump {
namespace {

absl::StatusOr<Window> RunWindow(Specimen& specimen, const Arm& arm, const Timing& timing) {
  SB_RETURN_IF_ERROR(specimen.Switch(arm));
  SB_RETURN_IF_ERROR(specimen.WaitUntil(specimen.NowNs() + timing.washout_ns));
  const ProcessorTime machine = specimen.MachineTime();
  SB_ASSIGN_OR_RETURN(const Mark begin, specimen.TakeMark());
  SB_RETURN_IF_ERROR(specimen.WaitUntil(specimen.NowNs() + timing.window_ns));
  SB_ASSIGN_OR_RETURN(const Mark end, specimen.TakeMark());
  const ProcessorTime time = Between(machine, specimen.MachineTime());
  SB_ASSIGN_OR_RETURN(Window window, MeasuredBetween(specimen, begin, end, arm.delay_ns.size()));
  window.wanted_ns = time.wanted_ns;
  window.stolen_ns = time.stolen_ns;
  return window;
}

}  // namespace

absl::Status RunBlocks(Specimen& specimen, const std::vector<Arm>& arms, const BlockOrder& order,
                       const Timing& timing, const WindowSink& sink) {
  if (arms.empty()) return absl::InvalidArgumentError("an experiment without arms");
  const Arm sham = {.kind = ArmKind::kSham,
                    .delay_ns = std::vector<uint64_t>(arms.front().delay_ns.size())};
  // Where this fails the session is over, and so are its delays.
  const absl::Cleanup quiet = [&] { specimen.Switch(sham).IgnoreError(); };
  for (uint32_t block = 0; block < order.size(); ++block) {
    for (const uint32_t arm : order[block]) {
      SB_ASSIGN_OR_RETURN(Window window, RunWindow(specimen, arms.at(arm), timing));
      window.block = block;
      window.arm = arm;
      SB_RETURN_IF_ERROR(sink(window));
    }
  }
  return absl::OkStatus();
}

}  // namespace sbump
