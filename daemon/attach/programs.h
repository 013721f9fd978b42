// The BPF programs of one session: loaded, linked to their sites, asked and answered. The only door
// to libbpf.
//
// Thread: used on the session's own thread; may be made on another (program_reserve.h). Loading
// costs tens of milliseconds of CPU (the verifier), each link tens more (the kernel waits for grace
// periods), so links are opened and closed in parallel.
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

#include "bpf/shared/bed.h"
#include "bpf/shared/config.h"
#include "bpf/shared/event.h"
#include "bpf/shared/module_entry.h"
#include "bpf/shared/native_site.h"
#include "bpf/shared/operator.h"
#include "bpf/shared/slot.h"
#include "bpf/shared/span.h"
#include "bpf/shared/verdict.h"
#include "daemon/attach/link_keeper.h"
#include "daemon/base/status.h"
#include "daemon/process/remote_memory.h"

namespace sbump {

enum class ProgramKind {
  kHit,
  kIntroduceEntry,
  kIntroduceReturn,
  kInterpreterMade,  // on return
  kDealloc,
  kCalibrate,
  kNativeHit,
  kNativeHitMulti,  // by the kernel's other kind of link (uprobe_link.h); where that works
  kModuleHit,
  kModuleHitMulti,
  kSpanBegin,  // in place of kModuleHit
  kSpanBeginMulti,
  kSpanEnd,
  kSpanEndMulti,
  kOperatorBegin,  // by the kernel's other kind of link only
  kOperatorEnd,
};

// Which programs are loaded: each costs the kernel some milliseconds.
struct ProgramSet {
  bool python = true;
  bool native = false;
  bool modules = false;
  bool spans = false;      // their calls from begin to end
  bool operators = false;  // and those of operators; with `spans`, and where UprobeMultiWorks()
  bool calibration = false;
  // One of several processes of a session: a smaller ring buffer, whose pages count twice, and a
  // smaller table of threads.
  bool one_of_several = false;
  // The hit site, too, gets a link that is closed beside others and leaves breakpoints in children
  // (uprobe_link.h).
  bool closes_quickly = false;

  friend bool operator==(const ProgramSet&, const ProgramSet&) = default;
};

// Where one program goes: a file (a path that this process can open) and an offset in it, proven to
// be an instruction.
struct ProbePoint {
  ProgramKind kind{};
  std::string path;
  uint64_t file_offset = 0;
  // Of operators, in place of file_offset: where each is, by its number.
  std::vector<uint64_t> many_offsets;
};

// Most targets of one session.
inline constexpr uint32_t kMaxSlots = SB_SLOTS_PER_CHUNK * SB_SLOT_CHUNKS;

class Programs {
 public:
  // kFailedPrecondition when the kernel lacks something, kPermissionDenied when we lack a right;
  // the message says which.
  static absl::StatusOr<std::unique_ptr<Programs>> Load(const sb_config& config, ProgramSet set);
  ~Programs();  // closes the links
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  // All or nothing: on failure the links that were opened here are closed again. `keeper` must
  // outlive them. Returns their numbers, in the order of the points.
  absl::StatusOr<std::vector<uint64_t>> OpenLinks(const std::vector<ProbePoint>& points, pid_t pid,
                                                  LinkKeeper& keeper);
  // Ends spins and holds first. Returns the number of links that could not be closed.
  uint32_t CloseLinks();
  // Some of them, while the others stay.
  uint32_t CloseLinks(const std::vector<uint64_t>& links);
  size_t link_count() const;
  bool closes_quickly() const;  // as it was loaded

  // Mapped memory shared with the programs.
  sb_control& control();
  // Makes slots [0, count) usable; kResourceExhausted above kMaxSlots.
  // Takes the kernel some milliseconds where there are too few.
  absl::Status ReserveSlots(uint32_t count);
  // The same beside other work, so that ReserveSlots() finds them: to be called now and then.
  void ReserveSlotsMeanwhile(uint32_t count);
  sb_slot& slot(uint32_t index);  // index was reserved
  std::array<uint64_t, SB_SKIP_REASONS> skipped() const;
  void CountSkip(sb_skip reason);  // of what the daemon did in place of the programs

  // Native functions. `slot` of a site is SB_FIRST_NATIVE_SLOT and up, below that +
  // SB_NATIVE_SITES, and slot() takes it once they are reserved.
  absl::Status ReserveNativeSlots();
  absl::Status SetNativeSite(RemoteAddr address, const sb_native_site& site);
  void DeleteNativeSite(RemoteAddr address);

  // Modules. The slots of targets are [SB_FIRST_MODULE_SLOT, SB_FIRST_MODULE_SLOT + count) once
  // they are reserved; kResourceExhausted above SB_MODULE_TARGETS.
  absl::Status ReserveModuleSlots(uint32_t count);
  // By address; `gone` are known no longer. Where there is no room for all, the first `tried` of
  // them are all tried, and the others up to the first for which there is none.
  absl::Status ChangeModules(const std::vector<std::pair<uint64_t, sb_module>>& modules,
                             size_t tried, const std::vector<uint64_t>& gone);
  // Calls of objects that are of a known module's type, and are not known.
  uint64_t unknown_module_calls() const;

  // Spans (bpf/shared/span.h). All but ConsumeSpans() before the first link, or at any time.
  sb_span_layout& span_layout();
  absl::Status SetSpanSite(RemoteAddr address, const sb_span_site& site);
  // Full: it is asked about again.
  void SetValueType(RemoteAddr type, sb_value_kind kind);
  void ForgetValueType(RemoteAddr type);
  // Readable when many events wait. Consumed on one thread, which may be another than the rest's.
  int span_fd() const;
  // At most so many; true: there may be more.
  bool ConsumeSpans(size_t most, const std::function<void(const sb_span_event&)>& on_event);
  uint64_t spans_lost() const;  // begins of calls, and ends of operators, that could not be told
  // `operators[n]` is that of the nth offset of its probes.
  absl::Status SetOperators(const std::vector<sb_operator>& operators);

  absl::Status SetVerdict(RemoteAddr code, const sb_verdict& verdict);
  // Verdicts that match nothing are left out where the table would become full: the programs then
  // ask again.
  absl::Status SetVerdicts(const std::vector<std::pair<uint64_t, sb_verdict>>& verdicts);
  void DeleteVerdict(RemoteAddr code);
  // Also those that the programs made by themselves (SB_VERDICT_DISMISSED).
  void ClearVerdicts();

  // What the programs may dismiss without asking: code of a file that no pattern takes (`known`:
  // SB_FILE_* of bpf/shared/text.h, or 0), and, where there are wanted names, code of any other
  // name. Both by sb_text_hash.
  void SetFile(uint64_t file_hash, uint8_t known);
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
  // Lets the thread of a claimed event go on. False: it waits no longer.
  bool Answer(const sb_event& event);

  // Threads that ask to be held until their delay is over (bpf/shared/bed.h). May be used on
  // another thread than the rest, while it lasts.
  int sleep_request_fd() const;
  void ConsumeSleepRequests(const std::function<void(const sb_sleep_request&)>& on_request);
  // True: from here on the thread waits for being stopped, until ReturnBed().
  bool ClaimBed(const sb_sleep_request& request);
  // False: it was returned before, here or by the thread, which was done waiting.
  bool ReturnBed(const sb_sleep_request& request);

 private:
  struct Impl;
  explicit Programs(std::unique_ptr<Impl> impl);
  bool ChangeHold(const sb_event& event, uint64_t from, uint64_t to);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sbump
