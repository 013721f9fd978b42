// The modules of one session in one process (torch.nn.Module, or another tree of callable objects):
// one probe, where every call of an object with a __call__ in Python begins; rows and proof.
// Nothing is written into the process but the kernel's breakpoint, and no thread of it is stopped.
//
// Thread: the session's own.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/attach/calibration.h"
#include "daemon/attach/journal.h"
#include "daemon/attach/programs.h"
#include "daemon/cpython/interpreter.h"
#include "daemon/session/attach_spec.h"
#include "daemon/session/module_probes.h"
#include "daemon/session/span_collector.h"
#include "daemon/stats/snapshot.h"
#include "daemon/torch/read_modules.h"

namespace sbump {

class ModulePart {
 public:
  // `spec` must outlive it.
  ModulePart(const TargetProcess& process, const MemoryReader& memory, const AttachSpec& spec)
      : process_(process), memory_(memory), spec_(spec), probes_(process, memory, spec) {}

  // Targets change in the steps of NativePart, for the same reason.
  //
  // 1. Reads the modules. kUnimplemented: no Python, or calls of its modules cannot be seen. A
  // process
  //    that has not imported torch, and a model that is not there, are waited for.
  absl::Status Resolve(std::shared_ptr<const ModuleList> list, InterpreterFileCache& files);
  // 2. Places the probe if it is missing.
  absl::Status Stage(Programs& programs, LinkKeeper& keeper, Journal& journal);
  // 3. From here on what was resolved is counted and delayed, and nothing else.
  void Commit(const TargetRules& rules, Programs& programs);
  void Rollback(Programs& programs);
  void CloseRetired(Programs& programs);

  void PublishDoses(const TargetRules& rules, Programs& programs) const;

  // To be called now and then: takes in modules that came, and lets go of those that went.
  void Tidy(const TargetRules& rules, Programs& programs, LinkKeeper& keeper, Journal& journal);

  // Appends rows, counters, patterns and warnings.
  void Describe(const TargetRules& rules, Programs& programs, Snapshot& snapshot) const;

  // Null where there are no module targets.
  const Interpreter* interpreter() const { return interpreter_ ? &*interpreter_ : nullptr; }
  // Once the probe is gone: bytes at its site that are not those of the file.
  uint32_t CountTextBytesChanged() const { return probes_.CountTextBytesChanged(); }
  bool has_probe() const { return probes_.open(); }
  // That it may come to.
  size_t most_links() const;
  // Once the probe is gone: hands on what is known of its calls, and ends that.
  void EndSpans() {
    if (collector_ != nullptr) collector_->Stop();
  }

 private:
  static constexpr uint64_t kLongestReadNs = 5'000'000'000;
  static constexpr uint64_t kLookEveryNs = 250'000'000;
  // The first call of a class that nothing is known of says nothing: this long until it is found.
  static constexpr uint64_t kLookForClassesEveryNs = 5'000'000'000;
  // What looking at the modules may take of a processor: one part in so many; the latter where
  // calls of a module say that there is something new.
  static constexpr uint64_t kShareOfLooking = 50;
  static constexpr uint64_t kShareOfNews = 10;

  struct Row {
    std::string path;
    std::string type;
    std::shared_ptr<const RowInfo> info;
    uint32_t slot = 0;
    // Of the list in force: that mean it, or meant it while it was there.
    std::vector<size_t> targets;
    bool in_force = false;
    bool followed = false;  // its calls are told as spans
  };
  // A module that is a target now.
  struct Place {
    size_t row = 0;
    RemoteAddr object;
    std::string class_name;
    std::vector<size_t> targets;  // that mean it, the first owns it
  };
  struct Resolution {
    std::shared_ptr<const ModuleList> list;
    ModuleForest forest;
    std::vector<std::string> warnings;
  };
  struct Found {
    std::shared_ptr<const ModuleList> list;  // that it was looked for
    absl::StatusOr<ModuleForest> forest;
    uint64_t took_ns = 0;  // of a processor
  };

  // By the names that models have already.
  ModuleQuery QueryOf(const ModuleList& list) const;
  absl::StatusOr<Resolution> Look(std::shared_ptr<const ModuleList> list) const;
  bool IsFollowed(const Module& module) const;
  void FollowSpans(Programs& programs);
  void AwaitImport(const TargetRules& rules, Programs& programs, LinkKeeper& keeper,
                   Journal& journal);
  absl::Status OpenProbes(Programs& programs, LinkKeeper& keeper, Journal& journal);
  absl::Status PlanRows(Programs& programs);
  size_t RowOf(const Module& module);
  sb_module EntryOf(const Module& module, uint32_t slot) const;
  void Tell(const std::vector<std::pair<uint64_t, sb_module>>& modules, size_t tried,
            const std::vector<uint64_t>& gone, Programs& programs);
  void IntroduceModules(Programs& programs);
  void SetTargets(Programs& programs);
  std::shared_ptr<const RowInfo> InfoOf(const Row& row, const std::vector<size_t>& targets) const;
  uint64_t CostNs() const;
  void LookAgain(bool known_roots);
  void LookWhereDue(Programs& programs);
  bool IsAsBefore(const ModuleForest& forest) const;
  void TakeIn(ModuleForest forest, const TargetRules& rules, Programs& programs);
  void NoteAliases();
  void Warn(Snapshot& snapshot) const;
  std::vector<NearMissText> WhyNone(const ModuleTarget& target) const;

  const TargetProcess& process_;
  const MemoryReader& memory_;
  const AttachSpec& spec_;

  std::optional<Interpreter> interpreter_;
  ModuleProbes probes_;

  std::shared_ptr<const ModuleList> list_ = std::make_shared<const ModuleList>();
  ModuleForest forest_;
  std::vector<std::pair<std::string, std::string>> aliases_;  // of it: each, and the module's path
  std::vector<std::string> warnings_;
  std::string late_warning_;  // of the last look; empty: it went well
  std::vector<Row> rows_;     // only ever added to
  std::map<std::string, size_t> row_by_path_;
  std::vector<Place> places_;
  size_t first_pattern_ = 0;
  std::map<uint64_t, sb_module> told_;  // what the programs know, by address
  bool retell_ = false;                 // they may know less

  // Resolved, and not yet committed.
  std::optional<Resolution> next_;
  std::vector<Place> next_places_;
  bool opens_ = false;  // probes that were not there before
  size_t rows_before_ = 0;

  std::future<Found> looking_;
  bool looking_for_roots_ = false;
  bool looking_with_reason_ = false;  // there must be something new
  bool known_are_gone_ = false;       // some models that were there
  uint64_t next_look_ns_ = 0;
  uint64_t next_news_ns_ = 0;
  uint64_t next_classes_ns_ = 0;
  uint64_t unknown_calls_ = 0;
  std::unique_ptr<SpanCollector> collector_;
  uint64_t calls_of_gone_ = 0;
};

}  // namespace sbump
