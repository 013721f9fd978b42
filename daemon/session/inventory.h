// The code objects of one process that are known by name, and the rows (targets) that they make.
// Several code objects with the same file, name and line are one row: a module that was loaded
// twice, a class made in a loop.
//
// Thread: the session's own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/attach/journal.h"
#include "daemon/cpython/code_object.h"
#include "daemon/cpython/module_names.h"
#include "daemon/session/attach_spec.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

inline constexpr uint32_t kNoRow = 0xffffffff;
inline constexpr std::string_view kModuleCodeName = "<module>";
inline constexpr size_t kMaxRows = 131072;  // as many as there are slots (daemon/attach/programs.h)

struct KnownCode {
  CodeHead head;
  const std::string* filename = nullptr;  // interned in the inventory
  std::string qualname;
  QualnameSource qualname_source{};
  bool is_blocked = false;  // it cannot be armed now; its row says why
  uint32_t row = kNoRow;
  std::vector<ArmedField> armed;  // its fields that were changed
  uint64_t seen_in_stop = 0;      // number of the stop in which it was last read
};

class Inventory {
 public:
  explicit Inventory(std::shared_ptr<const TargetList> targets);

  // Whether there is room for more: what runs in a process, and under which names, is its own
  // choice. What it had when it was walked is bounded already (HeapWalk::kMaxNameBytes).
  bool HasRoom() const { return bytes_ < kMaxBytes; }
  static constexpr uint64_t kMaxBytes = 128 << 20;

  // Adds or replaces what is known at its address, and gives it a row when a pattern takes it.
  KnownCode& Learn(const CodeObject& code, const std::vector<std::string>& module_names);
  KnownCode* Find(RemoteAddr addr);
  void Forget(RemoteAddr addr);

  // Judges every known code object anew. Rows that no pattern takes any more keep their counters,
  // but have no pattern and no code.
  void ChangeTargets(std::shared_ptr<const TargetList> targets);

  std::unordered_map<uint64_t, KnownCode>& codes() { return codes_; }
  const std::unordered_map<uint64_t, KnownCode>& codes() const { return codes_; }
  const Rows& rows() const { return rows_; }
  uint32_t live_code_objects(uint32_t row) const { return live_[row]; }
  const std::string& blocked(uint32_t row) const { return blocked_[row]; }
  // `why` is empty where it is not.
  void SetBlocked(KnownCode& code, std::string why);
  // Calls of the row that were not counted: a lower bound.
  void AddMissedCalls(uint32_t row, uint64_t calls) { missed_[row] += calls; }
  uint64_t missed_calls(uint32_t row) const { return missed_[row]; }
  // Matching code objects that got no row: there are kMaxRows, or no room.
  uint64_t without_row() const { return without_row_; }
  uint64_t rows_matched_by(size_t pattern) const { return rows_by_pattern_[pattern]; }
  bool ambiguous(size_t pattern) const { return ambiguous_[pattern]; }
  const TargetList& targets() const { return *targets_; }
  const ModuleNames& modules() const { return modules_; }
  ModuleNames& modules() { return modules_; }

  // Points into the inventory: until that changes.
  CodeName NameOf(const KnownCode& code) const {
    return {*code.filename, modules_.Find(*code.filename), code.qualname};
  }

 private:
  uint32_t Judge(const KnownCode& code, const std::vector<std::string>& module_names);
  uint32_t RowFor(const KnownCode& code, size_t pattern,
                  const std::vector<std::string>& module_names);
  // What the targets say of a row: its pattern, all its matches.
  std::shared_ptr<const RowInfo> Judged(RowInfo info) const;
  void NoteAmbiguous(const KnownCode& code, const std::vector<std::string>& module_names);
  void Unlink(KnownCode& code);
  const std::string* UseFile(const std::string& filename);
  void LeaveFile(const std::string& filename);

  std::shared_ptr<const TargetList> targets_;
  ModuleNames modules_;
  std::unordered_map<std::string, size_t> filenames_;  // and how many code objects have each
  std::unordered_map<uint64_t, KnownCode> codes_;
  Rows rows_;
  std::unordered_map<std::string, uint32_t> row_by_key_;
  std::vector<uint32_t> live_;        // per row
  std::vector<std::string> blocked_;  // per row
  std::vector<uint64_t> missed_;      // per row
  uint64_t without_row_ = 0;
  uint64_t bytes_ = 0;  // that all this takes, about
  std::vector<uint64_t> rows_by_pattern_;
  std::vector<bool> ambiguous_;
};

}  // namespace sbump
