#include "daemon/attach/calibration.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"

// Loops of so many hits, and what is probed in them. A jump and a push the kernel emulates, a move
// it single-steps.
asm(R"(
  .text
  .p2align 4
  .globl sb_calibrate_inlined
  .type sb_calibrate_inlined, @function
sb_calibrate_inlined:
  jmp 1f
1:
  dec %rdi
  jnz sb_calibrate_inlined
  ret
  .size sb_calibrate_inlined, . - sb_calibrate_inlined

  .p2align 4
  .globl sb_calibrate_called
  .type sb_calibrate_called, @function
sb_calibrate_called:
  call sb_calibration_called
  dec %rdi
  jnz sb_calibrate_called
  ret
  .size sb_calibrate_called, . - sb_calibrate_called
  .p2align 4
  .globl sb_calibration_called
  .type sb_calibration_called, @function
sb_calibration_called:
  push %rbp
  pop %rbp
  ret
  .size sb_calibration_called, . - sb_calibration_called

  .p2align 4
  .globl sb_calibrate_stepped
  .type sb_calibrate_stepped, @function
sb_calibrate_stepped:
  call sb_calibration_stepped
  dec %rdi
  jnz sb_calibrate_stepped
  ret
  .size sb_calibrate_stepped, . - sb_calibrate_stepped
  .p2align 4
  .globl sb_calibration_stepped
  .type sb_calibration_stepped, @function
sb_calibration_stepped:
  mov %rdi, %rax
  ret
  .size sb_calibration_stepped, . - sb_calibration_stepped
)");
extern "C" void sb_calibrate_inlined(uint64_t hits);
extern "C" void sb_calibrate_called(uint64_t hits);
extern "C" void sb_calibrate_stepped(uint64_t hits);
extern "C" void sb_calibration_called();
extern "C" void sb_calibration_stepped();

namespace sbump {
namespace {

constexpr int kPlainRounds = 4;
constexpr int kFewestRounds = 8;
constexpr int kMostRounds = 24;
constexpr auto kBetweenRounds = std::chrono::milliseconds(10);
constexpr uint64_t kHitsPerRound = 50;
constexpr uint64_t kWarmUpHits = 100;  // after a pause they take up to half as much again
constexpr uint64_t kDoseNs = 2000;
// Beyond: the machine was busy; never take more than this off a dose.
constexpr uint64_t kLargestCostNs = 1500;
constexpr uint64_t kLargestSteppedCostNs = 60'000;  // under a hypervisor a step can take 20 us

uint64_t HitNs(void (*loop)(uint64_t hits)) {
  const uint64_t begin = MonotonicNs();
  loop(kHitsPerRound);
  return (MonotonicNs() - begin) / kHitsPerRound;
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

Calibration::Calibration()
    : sites_{{
          {.loop = sb_calibrate_inlined,
           .probed_addr = reinterpret_cast<uint64_t>(sb_calibrate_inlined),
           .largest_cost_ns = kLargestCostNs},
          {.loop = sb_calibrate_called,
           .probed_addr = reinterpret_cast<uint64_t>(sb_calibration_called),
           .largest_cost_ns = kLargestCostNs},
          {.loop = sb_calibrate_stepped,
           .probed_addr = reinterpret_cast<uint64_t>(sb_calibration_stepped),
           .largest_cost_ns = kLargestSteppedCostNs},
      }} {}

Calibration::~Calibration() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  end_.notify_all();
  if (thread_.joinable()) thread_.join();
}

absl::Status Calibration::Begin(LinkKeeper& keeper) {
  const uint64_t begun_ns = MonotonicNs();
  SB_ASSIGN_OR_RETURN(programs_,
                      Programs::Load(sb_config{}, {.python = false, .calibration = true}));
  SB_RETURN_IF_ERROR(programs_->ReserveSlots(1));
  programs_->control().delay_until_ns = std::numeric_limits<uint64_t>::max();
  programs_->slot(0).delay_ns = kDoseNs;
  std::vector<ProbePoint> points;
  for (Site& site : sites_) {
    for (int i = 0; i < kPlainRounds; ++i) site.plain.Add(HitNs(site.loop));
    SB_ASSIGN_OR_RETURN(ProbePoint point, PointInSelf(site.probed_addr));
    points.push_back(point);
  }
  SB_RETURN_IF_ERROR(programs_->OpenLinks(points, getpid(), keeper).status());
  SB_RETURN_IF_ERROR(ExpectHits());
  MeasureRound();
  for (int i = 1; i < kFewestRounds || (i < kMostRounds && !Settled()); ++i) {
    std::this_thread::sleep_for(kBetweenRounds);
    MeasureRound();
  }
  serves_ = true;
  thread_ = std::thread([this, begun_ns] { MeasureOn(begun_ns); });
  return absl::OkStatus();
}

absl::Status Calibration::ExpectHits() const {
  for (const Site& site : sites_) {
    const uint64_t calls_before = programs_->slot(0).calls;
    site.loop(1);
    if (programs_->slot(0).calls == calls_before)
      return absl::FailedPreconditionError("a uprobe on sbumpd itself was placed but never hit");
  }
  return absl::OkStatus();
}

void Calibration::MeasureRound() {
  sites_.front().loop(kWarmUpHits);
  for (Site& site : sites_) {
    const uint64_t ns = HitNs(site.loop);
    std::lock_guard lock(mutex_);
    site.probed.Add(ns);
  }
}

bool Calibration::Settled() const {
  return std::all_of(sites_.begin(), sites_.end(),
                     [](const Site& site) { return site.probed.Settled(); });
}

// After a fifth of the time that has passed, each time.
void Calibration::MeasureOn(uint64_t begun_ns) {
  std::unique_lock lock(mutex_);
  const auto pause = [&] { return std::chrono::nanoseconds((MonotonicNs() - begun_ns) / 5); };
  while (!end_.wait_for(lock, pause(), [this] { return ending_; })) {
    lock.unlock();
    MeasureRound();
    lock.lock();
  }
}

TrapCosts Calibration::costs() const {
  std::lock_guard lock(mutex_);
  if (!serves_) return {};
  return {.inlined_ns = CostAt(sites_[0]),
          .emulated_ns = CostAt(sites_[1]),
          .stepped_ns = CostAt(sites_[2])};
}

uint64_t Calibration::CostAt(const Site& site) {
  const uint64_t expected_ns = site.plain.ns() + kDoseNs;
  const uint64_t probed_ns = std::max(site.probed.ns(), expected_ns);
  return std::min(probed_ns - expected_ns, site.largest_cost_ns);
}

}  // namespace sbump
