#include "daemon/attach/calibration.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

#include "daemon/attach/programs.h"
#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"

// Functions that begin with `push %rbp`, which the kernel emulates, and with a move, which it
// single-steps.
asm(R"(
  .text
  .p2align 4
  .globl sb_calibration_site
  .type sb_calibration_site, @function
sb_calibration_site:
  push %rbp
  pop %rbp
  ret
  .size sb_calibration_site, . - sb_calibration_site
  .p2align 4
  .globl sb_calibration_site_stepped
  .type sb_calibration_site_stepped, @function
sb_calibration_site_stepped:
  mov %rdi, %rax
  ret
  .size sb_calibration_site_stepped, . - sb_calibration_site_stepped
)");
extern "C" void sb_calibration_site();
extern "C" void sb_calibration_site_stepped();

namespace sbump {
namespace {

constexpr int kWarmUp = 200;
constexpr int kSamples = 2000;
constexpr uint64_t kDoseNs = 2000;
// Beyond: the machine was busy; never take more than this off a dose.
constexpr uint64_t kLargestCostNs = 1500;
constexpr uint64_t kLargestSteppedCostNs = 60'000;  // under a hypervisor a step can take 20 us

using Function = void (*)();

// Median ns of one call, the clock's own cost included.
uint64_t MedianCallNs(Function function) {
  std::vector<uint64_t> times;
  for (int i = 0; i < kWarmUp; ++i) function();
  for (int i = 0; i < kSamples; ++i) {
    const uint64_t begin = MonotonicNs();
    function();
    times.push_back(MonotonicNs() - begin);
  }
  std::nth_element(times.begin(), times.begin() + kSamples / 2, times.end());
  return times[kSamples / 2];
}

// The file and the offset in it of an address of our own, from /proc/self/maps.
absl::StatusOr<ProbePoint> PointInSelf(uint64_t addr) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    uint64_t start, end, offset;
    char dash;
    std::string perms, device, inode, path;
    std::istringstream fields(line);
    fields >> std::hex >> start >> dash >> end >> perms >> offset >> device >> inode >> path;
    if (addr >= start && addr < end)
      return ProbePoint{ProgramKind::kCalibrate, "/proc/self/exe", addr - start + offset};
  }
  return absl::InternalError("the calibration site is in no mapping of this process");
}

absl::StatusOr<uint64_t> MeasureAt(Function function, Programs& programs, LinkKeeper& keeper) {
  SB_ASSIGN_OR_RETURN(ProbePoint point, PointInSelf(reinterpret_cast<uint64_t>(function)));
  const uint64_t calls_before = programs.slot(0).calls;
  const uint64_t plain_ns = MedianCallNs(function);
  SB_ASSIGN_OR_RETURN(std::vector<uint64_t> links, programs.OpenLinks({point}, getpid(), keeper));
  const uint64_t probed_ns = MedianCallNs(function);
  if (programs.slot(0).calls == calls_before) {
    return absl::FailedPreconditionError("a uprobe on sbumpd itself was placed but never hit");
  }
  programs.CloseLinks(links);
  return probed_ns > plain_ns + kDoseNs ? probed_ns - plain_ns - kDoseNs : 0;
}

}  // namespace

absl::StatusOr<TrapCosts> MeasureTrapCosts(LinkKeeper& keeper) {
  SB_ASSIGN_OR_RETURN(std::unique_ptr<Programs> programs,
                      Programs::Load(sb_config{}, {.python = false, .calibration = true}));
  SB_RETURN_IF_ERROR(programs->ReserveSlots(1));
  programs->control().delay_until_ns = std::numeric_limits<uint64_t>::max();
  programs->slot(0).delay_ns = kDoseNs;
  TrapCosts costs;
  SB_ASSIGN_OR_RETURN(costs.emulated_ns, MeasureAt(&sb_calibration_site, *programs, keeper));
  SB_ASSIGN_OR_RETURN(costs.stepped_ns, MeasureAt(&sb_calibration_site_stepped, *programs, keeper));
  costs.emulated_ns = std::min(costs.emulated_ns, kLargestCostNs);
  costs.stepped_ns = std::min(costs.stepped_ns, kLargestSteppedCostNs);
  return costs;
}

}  // namespace sbump
