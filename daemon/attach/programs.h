// The BPF programs of one session: loaded, linked to their sites, asked and answered. The only door
// to libbpf.
//
// Thread: made and used on the session's own thread. Loading costs tens of milliseconds of CPU (the
// verifier), each link tens more (the kernel waits for grace periods), so links are opened and
// closed in parallel.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bpf/shared/config.h"
#include "bpf/shared/event.h"
#include "bpf/shared/slot.h"
#include "bpf/shared/verdict.h"
#include "daemon/attach/link_keeper.h"
#include "daemon/base/status.h"
#include "daemon/process/remote_memory.h"

namespace sbump {

enum class ProgramKind { kHit, kIntroduceEntry, kIntroduceReturn, kDealloc, kCalibrate };

// Where one program goes: a file (a path that this process can open) and an offset in it, proven to
// be an instruction.
struct ProbePoint {
  ProgramKind kind{};
  std::string path;
  uint64_t file_offset = 0;
};

// Most targets of one session.
inline constexpr uint32_t kMaxSlots = SB_SLOTS_PER_CHUNK * SB_SLOT_CHUNKS;

class Programs {
 public:
  // kFailedPrecondition when the kernel lacks something, kPermissionDenied when we lack a right;
  // the message says which.
  static absl::StatusOr<std::unique_ptr<Programs>> Load(const sb_config& config,
                                                        bool for_calibration = false);
  ~Programs();  // closes the links
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  // All or nothing: on failure the links that were opened are closed again. `keeper` must outlive
  // them.
  absl::Status OpenLinks(const std::vector<ProbePoint>& points, pid_t pid, LinkKeeper& keeper);
  // Ends spins and holds first. Returns the number of links that could not be closed.
  uint32_t CloseLinks();
  size_t link_count() const;

  // Mapped memory shared with the programs.
  sb_control& control();
  // Makes slots [0, count) usable; kResourceExhausted above kMaxSlots.
  // Takes the kernel some milliseconds where there are too few.
  absl::Status ReserveSlots(uint32_t count);
  // The same beside other work, so that ReserveSlots() finds them: to be called now and then.
  void ReserveSlotsMeanwhile(uint32_t count);
  sb_slot& slot(uint32_t index);  // index was reserved
  std::array<uint64_t, SB_SKIP_REASONS> skipped() const;

  absl::Status SetVerdict(RemoteAddr code, const sb_verdict& verdict);
  // Verdicts that match nothing are left out where the table would become full: the programs then
  // ask again.
  absl::Status SetVerdicts(const std::vector<std::pair<uint64_t, sb_verdict>>& verdicts);
  void DeleteVerdict(RemoteAddr code);
  // Also those that the programs made by themselves (SB_VERDICT_DISMISSED).
  void ClearVerdicts();

  // What the programs may dismiss without asking: code of a file that no pattern takes, and, where
  // there are wanted names, code of any other name. Both by sb_text_hash.
  void SetFileUnwanted(uint64_t file_hash, bool unwanted);
  // How many code objects the programs dismissed.
  uint64_t dismissed() const;
  absl::Status SetWantedNames(const std::optional<std::vector<uint64_t>>& name_hashes);

  // What was counted by address only. The count of a code object stands still once it has a
  // verdict: to be taken (and removed) a moment later.
  std::vector<uint64_t> PendingCodes() const;
  std::vector<std::pair<uint64_t, sb_pending>> TakePending(
      const std::unordered_set<uint64_t>& codes);
  bool HasPending() const;

  // Readable when events wait.
  int event_fd() const;
  // Calls `on_event` for each waiting event, in order; returns their number.
  int ConsumeEvents(const std::function<void(const sb_event&)>& on_event);
  // True: the thread of a held event still waits, and will wait until Answer(), at most
  // SB_CLAIM_LIMIT_NS. What is written for it is written in between.
  bool Claim(const sb_event& event);
  // Lets the thread of a held event go on. Nothing for an event that holds nobody.
  void Answer(const sb_event& event);

 private:
  struct Impl;
  explicit Programs(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// "the ring buffer was full: ..." for the user.
std::string_view SkipReasonText(sb_skip reason);

}  // namespace sbump
