// What a probe hit costs beside the program's own time (the trap, entering and leaving the
// program): measured on this machine, at functions of this very process.
//
// What else uses the core, other guests of a hypervisor among it, makes a hit cost half as much
// again, for tens of milliseconds at a time and up to seconds. If too much were taken off a dose,
// it would be less than what was asked for. So the least counts of what was measured, and it is
// measured again as long as the daemon lives, ever more rarely.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "daemon/attach/least_time.h"
#include "daemon/attach/link_keeper.h"
#include "daemon/attach/programs.h"
#include "daemon/base/status.h"

namespace sbump {

// Part of every dose, by how the kernel handles the probed instruction.
struct TrapCosts {
  // Emulated, and no return comes soon: the kernel's way back spoils what the processor knows of
  // returns, and on some a return after it takes 0.2 us more (AMD with Safe RET).
  uint64_t inlined_ns = 0;
  uint64_t emulated_ns = 0;
  uint64_t stepped_ns = 0;  // single-stepped out of line
};

// Safe to use from any thread.
class Calibration {
 public:
  Calibration();
  ~Calibration();

  // Once. Probes its functions, for as long as it lives; takes 0.1 to 0.3 s. Also proves that
  // uprobes and the programs work here: until it succeeds all costs are 0.
  absl::Status Begin(LinkKeeper& keeper);

  // Never more than they were.
  TrapCosts costs() const;

  uint64_t calls() const { return programs_->slot(0).calls; }  // of its functions; after Begin()

 private:
  struct Site {
    void (*loop)(uint64_t hits);
    uint64_t probed_addr;
    uint64_t largest_cost_ns;
    LeastTime plain{};   // without the probe
    LeastTime probed{};  // with it, the dose included
  };

  absl::Status ExpectHits() const;
  void MeasureRound();
  bool Settled() const;
  void MeasureOn(uint64_t begun_ns);
  static uint64_t CostAt(const Site& site);

  std::unique_ptr<Programs> programs_;
  mutable std::mutex mutex_;
  std::array<Site, 3> sites_;  // guarded by mutex_ once the thread runs; inlined, called, stepped
  bool serves_ = false;        // guarded by mutex_ once the thread runs
  bool ending_ = false;        // guarded by mutex_
  std::condition_variable end_;
  std::thread thread_;
};

}  // namespace sbump
