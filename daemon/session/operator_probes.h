// Probes on the operators of the process's torch: two on each of some 3,000 functions, by two
// links.
//
// Thread: the session's own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/attach/journal.h"
#include "daemon/attach/programs.h"
#include "daemon/native/mapped_files.h"
#include "daemon/process/remote_memory.h"
#include "daemon/process/target_process.h"
#include "daemon/torch/operator_sites.h"

namespace sbump {

class OperatorProbes {
 public:
  // By number.
  using Names = std::vector<std::shared_ptr<const std::string>>;

  // All that is given must outlive it.
  OperatorProbes(const TargetProcess& process, const MemoryReader& memory)
      : process_(process), memory_(memory) {}

  // Reads only. kUnimplemented: they cannot be seen in this process, or with this kernel.
  absl::Status Find();
  bool found() const { return !names_->empty(); }
  std::shared_ptr<const Names> names() const { return names_; }
  // What is not seen.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // All or nothing. Returns the links, which the caller closes.
  absl::StatusOr<std::vector<uint64_t>> Open(Programs& programs, LinkKeeper& keeper,
                                             Journal& journal) const;
  uint32_t CountTextBytesChanged() const;

 private:
  // Where a probe is placed, and what the file has there.
  struct Place {
    uint64_t file_offset = 0;
    RemoteAddr address;
    uint8_t byte = 0;
  };
  absl::Status TakePlaces(const OpenedCode& code, const std::vector<OperatorSite>& sites);
  bool IsUnmapped() const;
  std::vector<PlacedProbe> Placed() const;
  absl::Status CheckPlaced() const;

  const TargetProcess& process_;
  const MemoryReader& memory_;
  std::string probe_path_;
  uint64_t device_ = 0, inode_ = 0;
  std::vector<sb_operator> operators_;
  std::vector<Place> begins_, ends_;  // by number
  std::shared_ptr<const Names> names_ = std::make_shared<const Names>();
  std::vector<std::string> warnings_;
};

// A file that was copied up or replaced under an overlay takes probes that its running image never
// meets.
absl::Status ProbeNotShown(pid_t pid, const std::string& path);

}  // namespace sbump
