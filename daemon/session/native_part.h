// The native functions of one session in one process: their probes, rows and proof. Nothing is
// written into the process but the kernel's breakpoints, and no thread of it is stopped.
//
// Thread: the session's own.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/attach/calibration.h"
#include "daemon/attach/journal.h"
#include "daemon/attach/programs.h"
#include "daemon/native/resolve.h"
#include "daemon/session/attach_spec.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

class NativePart {
 public:
  // So many probes leave forked children clean, at the price of some 90 ms each at the end; more
  // share the kernel's quicker kind of link (uprobe_link.h).
  static constexpr size_t kMostCleanSites = 4;

  NativePart(const TargetProcess& process, const MemoryReader& memory, const TrapCosts& trap_costs)
      : process_(process), memory_(memory), trap_costs_(trap_costs) {}

  // Targets change in three steps, so that a session's others can change in between: either all
  // do, or none.
  //
  // 1. Finds out what the patterns mean. Reads only. kFailedPrecondition where one means what must
  //    not be probed.
  absl::Status Resolve(std::shared_ptr<const NativeList> patterns);
  // 2. Places the probes that are missing. They count nothing yet.
  absl::Status Stage(Programs& programs, LinkKeeper& keeper, Journal& journal);
  // 3. From here on what was resolved is counted and delayed, and nothing else; or all is as it was
  //    before. Takes no time: also while the process is stopped.
  void Commit(const TargetRules& rules, Programs& programs);
  void Rollback(Programs& programs);
  // Takes away the probes that no target needs any more.
  void CloseRetired(Programs& programs);

  void PublishDoses(const TargetRules& rules, Programs& programs,
                    std::vector<std::string>& warnings) const;

  // To be called now and then: takes in libraries that were loaded since.
  void Tidy(const TargetRules& rules, Programs& programs, LinkKeeper& keeper, Journal& journal);

  // Appends rows, counters, patterns and warnings.
  void Describe(const TargetRules& rules, Programs& programs, Snapshot& snapshot) const;

  // Once the probes are gone: bytes at their sites that are not those of the file.
  uint32_t CountTextBytesChanged() const;
  size_t site_count() const { return rows_.size(); }
  // What was resolved may take; libraries that are loaded later, too.
  size_t most_clean_links() const;

 private:
  static constexpr uint64_t kLookEveryNs = 250'000'000;
  static constexpr uint64_t kLongestLookPauseNs = 10'000'000'000;
  // A uprobe is of a file and an offset in it, wherever that is mapped.
  using SiteKey = std::tuple<uint64_t, uint64_t, uint64_t>;
  struct Row {
    NativeTarget target;
    std::shared_ptr<const RowInfo> info;
    uint32_t slot = 0;
    bool in_force = false;
  };
  struct Staged {
    std::vector<size_t> rows;  // of the resolution's targets
    std::vector<uint64_t> new_links;
    size_t rows_before = 0;
  };

  static SiteKey KeyOf(const NativeTarget& target) {
    return {target.device, target.inode, target.site.file_offset};
  }
  size_t RowOf(const NativeTarget& target);
  absl::Status OpenMissing(Programs& programs, LinkKeeper& keeper, Journal& journal);
  absl::Status CheckPlaced(const std::vector<const NativeTarget*>& targets) const;
  void SetSite(const Row& row, uint32_t slot, Programs& programs) const;
  void Retire(Row& row, Programs& programs);
  void Forget();
  uint64_t LeastCost(size_t pattern) const;
  bool NeedsAnotherLook(Programs& programs);
  void NoteWarnings();
  void LookAgainLater(const absl::Status& why);

  const TargetProcess& process_;
  const MemoryReader& memory_;
  const TrapCosts trap_costs_;

  std::shared_ptr<const NativeList> patterns_ = std::make_shared<const NativeList>();
  std::vector<NativeAnswer> answers_;
  std::vector<Row> rows_;  // only ever added to
  std::map<SiteKey, uint64_t> links_;
  std::vector<std::string> warnings_;

  // Resolved, and not yet committed.
  std::shared_ptr<const NativeList> next_patterns_;
  NativeResolution next_;
  Staged staged_;

  uint64_t next_look_ns_ = 0;
  uint64_t look_pause_ns_ = kLookEveryNs;
  std::string late_trouble_;  // of what was looked for last; empty: none
  uint64_t unknown_hits_ = 0;
  std::future<absl::StatusOr<NativeResolution>> looking_;
};

}  // namespace sbump
