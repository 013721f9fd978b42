// Tells the programs which code objects cannot match, so that a thread of the target waits for the
// daemon only where its answer may matter: without this an import costs two to three times its CPU
// time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/attach/programs.h"
#include "daemon/match/target_list.h"

namespace sbump {

// The programs' hash of a name; nullopt for a name that they leave to the daemon (empty, too long,
// not ASCII).
std::optional<uint64_t> NameHash(std::string_view name);

// The only names that `targets` can take, by NameHash; nullopt where some pattern has a glob there.
// With `last_part_only`, of co_name (before 3.11) instead of co_qualname.
std::optional<std::vector<uint64_t>> WantedNames(const TargetList& targets, bool last_part_only);

// What the programs are to know of a file: SB_FILE_* (bpf/shared/text.h).
uint8_t KnownOfFile(const std::string& filename, bool is_wanted, bool last_part_only);

class NameFilter {
 public:
  explicit NameFilter(bool last_part_only) : last_part_only_(last_part_only) {}

  // To be called before any file is noted, and again when the targets change.
  absl::Status Use(Programs& programs, const TargetList& targets);

  // What is known now of a file: the dotted names that it was imported as.
  void NoteFile(Programs& programs, const TargetList& targets, const std::string& filename,
                const std::vector<std::string>& module_names);

 private:
  const bool last_part_only_;
  std::unordered_map<std::string, uint8_t> known_;  // by file: SB_FILE_*
};

}  // namespace sbump
