#include "daemon/attach/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <future>
#include <system_error>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "bpf/frame_entry.skel.h"
#include "daemon/attach/uprobe_link.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// libbpf reports through a callback; its last warnings explain a failed load.
thread_local std::string* libbpf_messages = nullptr;

int OnLibbpfMessage(libbpf_print_level level, const char* format, va_list args) {
  if (level == LIBBPF_DEBUG || libbpf_messages == nullptr) return 0;
  char line[512];
  const int length = vsnprintf(line, sizeof(line), format, args);
  // It complains about RLIMIT_MEMLOCK on kernels that no longer need it.
  if (std::string_view(line).find("MEMLOCK") != std::string_view::npos) return 0;
  if (libbpf_messages->size() < 4096) *libbpf_messages += line;
  return length;
}

absl::Status LoadError(int error, const std::string& messages) {
  const std::string what = StrCat("cannot load the BPF programs: ", messages.substr(0, 1500));
  absl::Status status = ErrnoStatus(-error, what);
  if (status.code() == absl::StatusCode::kPermissionDenied) {
    return Annotate(status, "needs CAP_BPF and CAP_PERFMON (or root)");
  }
  return absl::FailedPreconditionError(
      ToAbsl(StrCat(status.message(), "; sbump needs a kernel with sleepable uprobes, ",
                    "bpf_loop and bpf_copy_from_user_task (6.1 or newer)")));
}

// Each on a thread of its own, or here where there is none to be had.
void RunSideBySide(const std::vector<std::function<void()>>& jobs) {
  std::vector<std::thread> threads;
  for (const std::function<void()>& job : jobs) {
    try {
      threads.emplace_back(job);
    } catch (const std::system_error&) {
      job();
    }
  }
  for (std::thread& thread : threads) thread.join();
}

// Of a map with keys of 8 bytes.
std::vector<uint64_t> Keys(const bpf_map* map) {
  std::vector<uint64_t> keys;
  uint64_t key;
  for (const uint64_t* last = nullptr; bpf_map__get_next_key(map, last, &key, sizeof(key)) == 0;
       last = &keys.back()) {
    keys.push_back(key);
    if (keys.size() > bpf_map__max_entries(map)) break;  // it changes under us
  }
  return keys;
}

void Clear(const bpf_map* map) {
  for (uint64_t key : Keys(map)) bpf_map__delete_elem(map, &key, sizeof(key), 0);
}

// SB_SLOTS_PER_CHUNK slots in a map of their own, mapped here.
class SlotChunk {
 public:
  static absl::StatusOr<SlotChunk> Create() {
    bpf_map_create_opts options{};
    options.sz = sizeof(options);
    options.map_flags = BPF_F_MMAPABLE;
    SlotChunk chunk;
    chunk.map_ = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "sb_slots", sizeof(uint32_t),
                                   sizeof(sb_slot), SB_SLOTS_PER_CHUNK, &options));
    if (!chunk.map_.valid()) return ErrnoStatus(errno, "creating a map for counters");
    void* at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, chunk.map_.get(), 0);
    if (at == MAP_FAILED) return ErrnoStatus(errno, "mapping the counters");
    chunk.slots_ = static_cast<sb_slot*>(at);
    return chunk;
  }
  SlotChunk(SlotChunk&& other) noexcept
      : map_(std::move(other.map_)), slots_(std::exchange(other.slots_, nullptr)) {}
  ~SlotChunk() {
    if (slots_ != nullptr) munmap(slots_, kBytes);
  }
  int map_fd() const { return map_.get(); }
  sb_slot& slot(uint32_t index) { return slots_[index]; }

 private:
  // A multiple of the page size: 2048 slots of a multiple of 8 bytes.
  static constexpr size_t kBytes = SB_SLOTS_PER_CHUNK * sizeof(sb_slot);
  static_assert(kBytes % 4096 == 0);
  SlotChunk() = default;
  Fd map_;
  sb_slot* slots_ = nullptr;
};

}  // namespace

struct Programs::Impl {
  frame_entry* skeleton = nullptr;
  std::vector<SlotChunk> chunks;
  std::future<absl::StatusOr<std::vector<SlotChunk>>> growing;
  LinkKeeper* keeper = nullptr;
  std::vector<uint64_t> links;
  ring_buffer* ring = nullptr;
  std::function<void(const sb_event&)> on_event;

  ~Impl() {
    if (growing.valid()) growing.wait();
    if (ring != nullptr) ring_buffer__free(ring);
    chunks.clear();
    if (skeleton != nullptr) frame_entry__destroy(skeleton);
  }

  bpf_program* Find(ProgramKind kind) const {
    switch (kind) {
      case ProgramKind::kHit:
        return skeleton->progs.sb_hit;
      case ProgramKind::kIntroduceEntry:
        return skeleton->progs.sb_introduce_entry;
      case ProgramKind::kIntroduceReturn:
        return skeleton->progs.sb_introduce_return;
      case ProgramKind::kDealloc:
        return skeleton->progs.sb_dealloc;
      case ProgramKind::kCalibrate:
        return skeleton->progs.sb_calibrate;
    }
    return nullptr;
  }

  void ChoosePrograms(const sb_config& config, bool for_calibration) const {
    const bool introduces = !for_calibration && config.arming != SB_ARMING_OPCACHE_FLAG;
    bpf_program__set_autoload(skeleton->progs.sb_hit, !for_calibration);
    bpf_program__set_autoload(skeleton->progs.sb_dealloc, !for_calibration);
    bpf_program__set_autoload(skeleton->progs.sb_introduce_entry, introduces);
    bpf_program__set_autoload(skeleton->progs.sb_introduce_return, introduces);
    bpf_program__set_autoload(skeleton->progs.sb_calibrate, for_calibration);
    for (ProgramKind kind :
         {ProgramKind::kDealloc, ProgramKind::kIntroduceEntry, ProgramKind::kIntroduceReturn}) {
      if (UsesMulti(kind)) {
        bpf_program__set_expected_attach_type(Find(kind),
                                              static_cast<bpf_attach_type>(kAttachTypeUprobeMulti));
      }
    }
  }

  static bool UsesMulti(ProgramKind kind) {
    const bool rare = kind != ProgramKind::kHit && kind != ProgramKind::kCalibrate;
    return rare && UprobeMultiWorks();
  }

  absl::StatusOr<uint64_t> OpenLink(const ProbePoint& point, pid_t pid) const {
    return keeper->Open(
        {.kind = UsesMulti(point.kind) ? UprobeKind::kMulti : UprobeKind::kPerfEvent,
         .pid = pid,
         .path = point.path,
         .file_offset = point.file_offset,
         .on_return = point.kind == ProgramKind::kIntroduceReturn},
        bpf_program__fd(Find(point.kind)));
  }

  // The chunks that are missing for `count` slots, known to the programs already.
  absl::StatusOr<std::vector<SlotChunk>> MakeChunks(uint32_t count) const {
    std::vector<uint32_t> indices;
    std::vector<int> fds;
    std::vector<SlotChunk> made;
    for (size_t i = chunks.size(); i * SB_SLOTS_PER_CHUNK < count; ++i) {
      SB_ASSIGN_OR_RETURN(SlotChunk chunk, SlotChunk::Create());
      indices.push_back(static_cast<uint32_t>(i));
      fds.push_back(chunk.map_fd());
      made.push_back(std::move(chunk));
    }
    SB_RETURN_IF_ERROR(AddToMap(indices, fds));
    return made;
  }

  // At once: the kernel waits for a grace period (7 ms) after each update of a map of maps.
  absl::Status AddToMap(std::vector<uint32_t>& indices, std::vector<int>& fds) const {
    if (indices.empty()) return absl::OkStatus();
    const bpf_map* map = skeleton->maps.slot_chunks;
    uint32_t count = static_cast<uint32_t>(indices.size());
    bpf_map_batch_opts options{};
    options.sz = sizeof(options);
    if (bpf_map_update_batch(bpf_map__fd(map), indices.data(), fds.data(), &count, &options) == 0)
      return absl::OkStatus();
    for (size_t i = 0; i < indices.size(); ++i) {  // a kernel without batches for such maps
      if (bpf_map__update_elem(map, &indices[i], sizeof(indices[i]), &fds[i], sizeof(fds[i]),
                               BPF_ANY) != 0) {
        return ErrnoStatus(errno, "adding maps for counters");
      }
    }
    return absl::OkStatus();
  }

  bool HasGrown() const {
    return growing.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  // What failed is tried again when it is needed.
  void TakeGrown() {
    if (!growing.valid()) return;
    absl::StatusOr<std::vector<SlotChunk>> made = growing.get();
    if (!made.ok()) return;
    for (SlotChunk& chunk : *made) chunks.push_back(std::move(chunk));
  }

  absl::Status OpenRing() {
    const auto on_sample = [](void* context, void* data, size_t size) {
      if (size >= sizeof(sb_event))
        static_cast<Impl*>(context)->on_event(*static_cast<const sb_event*>(data));
      return 0;
    };
    ring = ring_buffer__new(bpf_map__fd(skeleton->maps.events), on_sample, this, nullptr);
    if (ring == nullptr) return ErrnoStatus(errno, "opening the ring buffer");
    return absl::OkStatus();
  }
};

Programs::Programs(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Programs::~Programs() {
  if (const uint32_t left = CloseLinks(); left != 0) {
    Log(LogLevel::kError, "links_left", {{"count", left}});
  }
}

absl::StatusOr<std::unique_ptr<Programs>> Programs::Load(const sb_config& config,
                                                         bool for_calibration) {
  static const bool once = (libbpf_set_print(OnLibbpfMessage), true);
  (void)once;
  std::string messages;
  libbpf_messages = &messages;
  const absl::Cleanup forget_messages = [] { libbpf_messages = nullptr; };
  auto impl = std::make_unique<Impl>();
  impl->skeleton = frame_entry__open();
  if (impl->skeleton == nullptr) return LoadError(-errno, messages);
  impl->skeleton->rodata->config = config;
  impl->ChoosePrograms(config, for_calibration);
  const int error = frame_entry__load(impl->skeleton);
  if (error != 0) return LoadError(error, messages);
  SB_RETURN_IF_ERROR(impl->OpenRing());
  return std::unique_ptr<Programs>(new Programs(std::move(impl)));
}

absl::Status Programs::OpenLinks(const std::vector<ProbePoint>& points, pid_t pid,
                                 LinkKeeper& keeper) {
  impl_->keeper = &keeper;
  std::vector<absl::StatusOr<uint64_t>> links(points.size(), absl::UnknownError(""));
  std::vector<std::function<void()>> jobs;
  for (size_t i = 0; i < points.size(); ++i) {
    jobs.push_back([&, i] { links[i] = impl_->OpenLink(points[i], pid); });
  }
  RunSideBySide(jobs);
  for (const absl::StatusOr<uint64_t>& link : links) {
    if (link.ok()) impl_->links.push_back(*link);
  }
  for (const absl::StatusOr<uint64_t>& link : links) {
    if (link.ok()) continue;
    CloseLinks();
    return Annotate(link.status(), StrCat("pid ", pid, ": cannot place a probe"));
  }
  return absl::OkStatus();
}

uint32_t Programs::CloseLinks() {
  if (link_count() == 0) return 0;
  control().abort = 1;
  std::atomic<uint32_t> left{0};
  std::vector<std::function<void()>> jobs;
  for (uint64_t link : impl_->links) {
    jobs.push_back([this, &left, link] {
      if (!impl_->keeper->Close(link).ok()) ++left;
    });
  }
  RunSideBySide(jobs);
  impl_->links.clear();
  return left;
}

size_t Programs::link_count() const { return impl_->links.size(); }

sb_control& Programs::control() { return impl_->skeleton->bss->control; }

absl::Status Programs::ReserveSlots(uint32_t count) {
  if (count > kMaxSlots) {
    return absl::ResourceExhaustedError(StrCat("a session has at most ", kMaxSlots, " targets"));
  }
  if (impl_->chunks.size() * SB_SLOTS_PER_CHUNK >= count) return absl::OkStatus();
  impl_->TakeGrown();
  SB_ASSIGN_OR_RETURN(std::vector<SlotChunk> chunks, impl_->MakeChunks(count));
  for (SlotChunk& chunk : chunks) impl_->chunks.push_back(std::move(chunk));
  return absl::OkStatus();
}

void Programs::ReserveSlotsMeanwhile(uint32_t count) {
  count = std::min(count, kMaxSlots);
  if (impl_->growing.valid() && !impl_->HasGrown()) return;
  impl_->TakeGrown();
  if (impl_->chunks.size() * SB_SLOTS_PER_CHUNK >= count) return;
  try {
    impl_->growing = std::async(std::launch::async,
                                [impl = impl_.get(), count] { return impl->MakeChunks(count); });
  } catch (const std::system_error&) {  // no thread to be had: when they are needed, then
  }
}

sb_slot& Programs::slot(uint32_t index) {
  return impl_->chunks[index / SB_SLOTS_PER_CHUNK].slot(index % SB_SLOTS_PER_CHUNK);
}

std::array<uint64_t, SB_SKIP_REASONS> Programs::skipped() const {
  std::array<uint64_t, SB_SKIP_REASONS> counts;
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] = __atomic_load_n(&impl_->skeleton->bss->skipped[i], __ATOMIC_RELAXED);
  }
  return counts;
}

absl::Status Programs::SetVerdict(RemoteAddr code, const sb_verdict& verdict) {
  if (bpf_map__update_elem(impl_->skeleton->maps.verdicts, &code.value, sizeof(code.value),
                           &verdict, sizeof(verdict), BPF_ANY) != 0) {
    return ErrnoStatus(errno, "the table of code objects");
  }
  return absl::OkStatus();
}

absl::Status Programs::SetVerdicts(const std::vector<std::pair<uint64_t, sb_verdict>>& verdicts) {
  if (verdicts.empty()) return absl::OkStatus();
  std::vector<uint64_t> keys;
  std::vector<sb_verdict> values;
  const size_t room = bpf_map__max_entries(impl_->skeleton->maps.verdicts) * 7 / 8;
  for (const auto& [key, value] : verdicts) {
    if (value.slot == SB_NO_SLOT && verdicts.size() > room) continue;
    keys.push_back(key);
    values.push_back(value);
  }
  uint32_t count = static_cast<uint32_t>(keys.size());
  bpf_map_batch_opts options{};
  options.sz = sizeof(options);
  if (bpf_map_update_batch(bpf_map__fd(impl_->skeleton->maps.verdicts), keys.data(), values.data(),
                           &count, &options) == 0) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, "the table of code objects");
}

void Programs::DeleteVerdict(RemoteAddr code) {
  bpf_map__delete_elem(impl_->skeleton->maps.verdicts, &code.value, sizeof(code.value), 0);
}

void Programs::ClearVerdicts() { Clear(impl_->skeleton->maps.verdicts); }

void Programs::SetFileUnwanted(uint64_t file_hash, bool unwanted) {
  const bpf_map* map = impl_->skeleton->maps.unwanted_files;
  const uint8_t one = 1;
  // Full, or absent already: the daemon is asked once more than needed.
  if (unwanted)
    bpf_map__update_elem(map, &file_hash, sizeof(file_hash), &one, sizeof(one), BPF_ANY);
  else
    bpf_map__delete_elem(map, &file_hash, sizeof(file_hash), 0);
}

uint64_t Programs::dismissed() const {
  return __atomic_load_n(&impl_->skeleton->bss->dismissed, __ATOMIC_RELAXED);
}

absl::Status Programs::SetWantedNames(const std::optional<std::vector<uint64_t>>& name_hashes) {
  control().filters_names = 0;
  Clear(impl_->skeleton->maps.wanted_names);
  if (!name_hashes) return absl::OkStatus();
  const uint8_t one = 1;
  for (uint64_t hash : *name_hashes) {
    if (bpf_map__update_elem(impl_->skeleton->maps.wanted_names, &hash, sizeof(hash), &one,
                             sizeof(one), BPF_ANY) != 0) {
      return ErrnoStatus(errno, "the table of wanted names");
    }
  }
  control().filters_names = 1;
  return absl::OkStatus();
}

bool Programs::HasPending() const {
  uint64_t key;
  return bpf_map__get_next_key(impl_->skeleton->maps.pending, nullptr, &key, sizeof(key)) == 0;
}

std::vector<uint64_t> Programs::PendingCodes() const { return Keys(impl_->skeleton->maps.pending); }

std::vector<std::pair<uint64_t, sb_pending>> Programs::TakePending(
    const std::unordered_set<uint64_t>& codes) {
  std::vector<std::pair<uint64_t, sb_pending>> taken;
  for (uint64_t key : codes) {
    sb_pending value{};
    if (bpf_map__lookup_and_delete_elem(impl_->skeleton->maps.pending, &key, sizeof(key), &value,
                                        sizeof(value), 0) == 0) {
      taken.emplace_back(key, value);
    }
  }
  return taken;
}

int Programs::event_fd() const { return ring_buffer__epoll_fd(impl_->ring); }

int Programs::ConsumeEvents(const std::function<void(const sb_event&)>& on_event) {
  impl_->on_event = on_event;
  if (impl_->skeleton->bss->unanswered_holds != 0) impl_->skeleton->bss->unanswered_holds = 0;
  return ring_buffer__consume(impl_->ring);
}

bool Programs::Claim(const sb_event& event) {
  if (event.hold >= SB_HOLDS) return false;
  __u64 expected = event.sequence;
  return __atomic_compare_exchange_n(&impl_->skeleton->bss->holds[event.hold].owner, &expected,
                                     event.sequence | SB_HOLD_CLAIMED, /*weak=*/false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void Programs::Answer(const sb_event& event) {
  if (event.hold >= SB_HOLDS) return;
  __atomic_store_n(&impl_->skeleton->bss->holds[event.hold].answered, event.sequence,
                   __ATOMIC_RELEASE);
}

std::string_view SkipReasonText(sb_skip reason) {
  switch (reason) {
    case SB_SKIP_RING_FULL:
      return "the daemon could not be told of a code object: ring buffer full";
    case SB_SKIP_HOLDS_BUSY:
      return "too many threads waited for the daemon at once: a first call went on undelayed";
    case SB_SKIP_HOLD_TIMEOUT:
      return "the daemon answered too late: a first call went on undelayed";
    case SB_SKIP_PENDING_FULL:
      return "a call could not be attributed: table of unresolved code objects full";
    case SB_SKIP_UNREADABLE:
      return "a code object could not be read at the probe";
    case SB_SKIP_THREADS_FULL:
      return "threads_seen is a lower bound: table of threads full";
    case SB_SKIP_ADDRESS_REUSED:
      return "a code object's address was used again";
    case SB_SKIP_ABORTED_DELAY:
      return "a delay was cut short by a signal, a stop or the detach";
    case SB_SKIP_NOT_CODE:
      return "the object at the probe is no code object";
    case SB_SKIP_DEATH_UNTOLD:
      return "the end of a code object was not told: ring buffer full (the counts are right)";
    case SB_SKIP_REASONS:
      break;
  }
  return "unknown";
}

}  // namespace sbump
