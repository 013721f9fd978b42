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

// A function that begins with `push %rbp`: like the sites, an instruction that the kernel emulates.
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
)");
extern "C" void sb_calibration_site();

namespace sbump {
namespace {

constexpr int kWarmUp = 200;
constexpr int kSamples = 2000;
constexpr uint64_t kDoseNs = 2000;
constexpr uint64_t kLargestCostNs =
    1500;  // beyond: the machine was busy; never take more than this off a dose

// Median ns of one call, the clock's own cost included.
uint64_t MedianCallNs() {
  std::vector<uint64_t> times;
  for (int i = 0; i < kWarmUp; ++i) sb_calibration_site();
  for (int i = 0; i < kSamples; ++i) {
    const uint64_t begin = MonotonicNs();
    sb_calibration_site();
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

}  // namespace

absl::StatusOr<uint64_t> MeasureTrapCostNs(LinkKeeper& keeper) {
  sb_config config{};
  SB_ASSIGN_OR_RETURN(std::unique_ptr<Programs> programs,
                      Programs::Load(config, /*for_calibration=*/true));
  SB_RETURN_IF_ERROR(programs->ReserveSlots(1));
  programs->control().delay_until_ns = std::numeric_limits<uint64_t>::max();
  programs->slot(0).delay_ns = kDoseNs;
  SB_ASSIGN_OR_RETURN(ProbePoint point,
                      PointInSelf(reinterpret_cast<uint64_t>(&sb_calibration_site)));
  const uint64_t plain_ns = MedianCallNs();
  SB_RETURN_IF_ERROR(programs->OpenLinks({point}, getpid(), keeper));
  const uint64_t probed_ns = MedianCallNs();
  if (programs->slot(0).calls == 0) {
    return absl::FailedPreconditionError("a uprobe on sbumpd itself was placed but never hit");
  }
  const uint64_t cost_ns = probed_ns > plain_ns + kDoseNs ? probed_ns - plain_ns - kDoseNs : 0;
  return std::min(cost_ns, kLargestCostNs);
}

}  // namespace sbump
