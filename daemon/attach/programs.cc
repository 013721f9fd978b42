#include "daemon/attach/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <system_error>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "bpf/frame_entry.skel.h"
#include "daemon/attach/kernel_features.h"
#include "daemon/attach/kernel_types.h"
#include "daemon/attach/own_stack.h"
#include "daemon/attach/slot_chunks.h"
#include "daemon/attach/uprobe_link.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"
#include "daemon/process/own_namespaces.h"

namespace sbump {
namespace {

constexpr uint32_t kEventBytes = 1024 * 1024;
constexpr uint32_t kFewEventBytes = 64 * 1024;

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
  const std::string missing = MissingOf(ExamineKernelFeatures());
  if (missing.empty()) return absl::FailedPreconditionError(status.message());
  utsname name{};
  uname(&name);
  return absl::FailedPreconditionError(
      ToAbsl(StrCat("this kernel (", name.release, ") lacks what sbump needs: ", missing)));
}

// Each on a thread of its own, or here where there is none to be had.
void RunSideBySide(const std::vector<std::function<void()>>& jobs) {
  constexpr size_t kMostThreads = 32;
  for (size_t begin = 0; begin < jobs.size(); begin += kMostThreads) {
    std::vector<std::thread> threads;
    for (size_t i = begin; i < std::min(jobs.size(), begin + kMostThreads); ++i) {
      try {
        threads.emplace_back(jobs[i]);
      } catch (const std::system_error&) {
        jobs[i]();
      }
    }
    for (std::thread& thread : threads) thread.join();
  }
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

}  // namespace

struct Programs::Impl {
  frame_entry* skeleton = nullptr;
  std::optional<SlotChunks> slots;
  LinkKeeper* keeper = nullptr;
  std::vector<uint64_t> links;
  ProgramSet set;
  uint64_t pending_taken = 0;  // entries of the map `pending`, which nobody else removes
  ring_buffer* ring = nullptr;
  std::function<void(const sb_event&)> on_event;
  ring_buffer* sleep_ring = nullptr;
  std::function<void(const sb_sleep_request&)> on_sleep_request;

  ~Impl() {
    if (ring != nullptr) ring_buffer__free(ring);
    if (sleep_ring != nullptr) ring_buffer__free(sleep_ring);
    slots.reset();
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
      case ProgramKind::kInterpreterMade:
        return skeleton->progs.sb_interpreter_made;
      case ProgramKind::kDealloc:
        return skeleton->progs.sb_dealloc;
      case ProgramKind::kCalibrate:
        return skeleton->progs.sb_calibrate;
      case ProgramKind::kNativeHit:
        return skeleton->progs.sb_native_hit;
      case ProgramKind::kNativeHitMulti:
        return skeleton->progs.sb_native_hit_multi;
    }
    return nullptr;
  }

  void ChoosePrograms(const sb_config& config) const {
    const bool introduces = set.python && config.arming != SB_ARMING_OPCACHE_FLAG;
    bpf_program__set_autoload(skeleton->progs.sb_hit, set.python);
    bpf_program__set_autoload(skeleton->progs.sb_dealloc, set.python);
    bpf_program__set_autoload(skeleton->progs.sb_introduce_entry, introduces);
    bpf_program__set_autoload(skeleton->progs.sb_introduce_return, introduces);
    bpf_program__set_autoload(skeleton->progs.sb_interpreter_made,
                              set.python && config.arming == SB_ARMING_INSTRUMENTED_RESUME);
    bpf_program__set_autoload(skeleton->progs.sb_calibrate, set.calibration);
    bpf_program__set_autoload(skeleton->progs.sb_native_hit, set.native);
    bpf_program__set_autoload(skeleton->progs.sb_native_hit_multi,
                              set.native && UprobeMultiWorks());
    for (ProgramKind kind : {ProgramKind::kHit, ProgramKind::kDealloc, ProgramKind::kIntroduceEntry,
                             ProgramKind::kIntroduceReturn, ProgramKind::kInterpreterMade,
                             ProgramKind::kNativeHitMulti}) {
      if (UsesMulti(kind)) {
        bpf_program__set_expected_attach_type(Find(kind),
                                              static_cast<bpf_attach_type>(kAttachTypeUprobeMulti));
      }
    }
  }

  absl::Status CheckStacks() const {
    bpf_program* program;
    bpf_object__for_each_program(program, skeleton->obj) {
      if (const int fd = bpf_program__fd(program); fd >= 0) SB_RETURN_IF_ERROR(CheckOwnStack(fd));
    }
    return absl::OkStatus();
  }

  bool UsesMulti(ProgramKind kind) const {
    const bool stays_clean_in_children = (kind == ProgramKind::kHit && !set.children_too) ||
                                         kind == ProgramKind::kCalibrate ||
                                         kind == ProgramKind::kNativeHit;
    return !stays_clean_in_children && UprobeMultiWorks();
  }

  absl::StatusOr<uint64_t> OpenLink(const ProbePoint& point, pid_t pid) const {
    return keeper->Open(
        {.kind = UsesMulti(point.kind) ? UprobeKind::kMulti : UprobeKind::kPerfEvent,
         .pid = pid,
         .path = point.path,
         .file_offset = point.file_offset,
         .on_return = point.kind == ProgramKind::kIntroduceReturn ||
                      point.kind == ProgramKind::kInterpreterMade},
        bpf_program__fd(Find(point.kind)));
  }

  // Calls Impl::*handler with each sample.
  template <typename Sample, std::function<void(const Sample&)> Impl::*handler>
  absl::StatusOr<ring_buffer*> OpenRing(const bpf_map* map) {
    const auto on_sample = [](void* context, void* data, size_t size) {
      if (size >= sizeof(Sample))
        (static_cast<Impl*>(context)->*handler)(*static_cast<const Sample*>(data));
      return 0;
    };
    ring_buffer* opened = ring_buffer__new(bpf_map__fd(map), on_sample, this, nullptr);
    if (opened == nullptr) return ErrnoStatus(errno, "opening a ring buffer");
    return opened;
  }

  absl::Status OpenRings() {
    SB_ASSIGN_OR_RETURN(ring, (OpenRing<sb_event, &Impl::on_event>(skeleton->maps.events)));
    SB_ASSIGN_OR_RETURN(
        sleep_ring,
        (OpenRing<sb_sleep_request, &Impl::on_sleep_request>(skeleton->maps.sleep_requests)));
    return absl::OkStatus();
  }
};

Programs::Programs(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Programs::~Programs() {
  if (const uint32_t left = CloseLinks(); left != 0) {
    Log(LogLevel::kError, "links_left", {{"count", left}});
  }
}

absl::StatusOr<std::unique_ptr<Programs>> Programs::Load(const sb_config& config, ProgramSet set) {
  static const bool once = (libbpf_set_print(OnLibbpfMessage), true);
  (void)once;
  std::string messages;
  libbpf_messages = &messages;
  const absl::Cleanup forget_messages = [] { libbpf_messages = nullptr; };
  auto impl = std::make_unique<Impl>();
  bpf_object_open_opts options{};
  options.sz = sizeof(options);
  options.btf_custom_path = KernelTypesPath();
  impl->skeleton = frame_entry__open_opts(&options);
  if (impl->skeleton == nullptr) return LoadError(-errno, messages);
  impl->set = set;
  impl->skeleton->rodata->pid_namespace = OwnPidNamespace();
  impl->skeleton->rodata->config = config;
  impl->skeleton->rodata->config.event_bytes = set.one_of_several ? kFewEventBytes : kEventBytes;
  bpf_map__set_max_entries(impl->skeleton->maps.events, impl->skeleton->rodata->config.event_bytes);
  impl->ChoosePrograms(config);
  const int error = frame_entry__load(impl->skeleton);
  if (error != 0) return LoadError(error, messages);
  SB_RETURN_IF_ERROR(impl->CheckStacks());
  impl->slots.emplace(bpf_map__fd(impl->skeleton->maps.slot_chunks));
  SB_RETURN_IF_ERROR(impl->OpenRings());
  return std::unique_ptr<Programs>(new Programs(std::move(impl)));
}

absl::StatusOr<std::vector<uint64_t>> Programs::OpenLinks(const std::vector<ProbePoint>& points,
                                                          pid_t pid, LinkKeeper& keeper) {
  impl_->keeper = &keeper;
  std::vector<absl::StatusOr<uint64_t>> links(points.size(), absl::UnknownError(""));
  std::vector<std::function<void()>> jobs;
  for (size_t i = 0; i < points.size(); ++i) {
    jobs.push_back([&, i] { links[i] = impl_->OpenLink(points[i], pid); });
  }
  RunSideBySide(jobs);
  std::vector<uint64_t> opened;
  for (const absl::StatusOr<uint64_t>& link : links) {
    if (link.ok()) opened.push_back(*link);
  }
  impl_->links.insert(impl_->links.end(), opened.begin(), opened.end());
  for (const absl::StatusOr<uint64_t>& link : links) {
    if (link.ok()) continue;
    CloseLinks(opened);
    return Annotate(link.status(), StrCat("pid ", pid, ": cannot place a probe"));
  }
  return opened;
}

uint32_t Programs::CloseLinks() {
  if (link_count() == 0) return 0;
  control().abort = 1;
  return CloseLinks(std::vector<uint64_t>(impl_->links));
}

uint32_t Programs::CloseLinks(const std::vector<uint64_t>& links) {
  std::atomic<uint32_t> left{0};
  std::vector<std::function<void()>> jobs;
  for (uint64_t link : links) {
    jobs.push_back([this, &left, link] {
      if (!impl_->keeper->Close(link).ok()) ++left;
    });
  }
  RunSideBySide(jobs);
  std::erase_if(impl_->links, [&](uint64_t link) {
    return std::find(links.begin(), links.end(), link) != links.end();
  });
  return left;
}

size_t Programs::link_count() const { return impl_->links.size(); }

sb_control& Programs::control() { return impl_->skeleton->bss->control; }

absl::Status Programs::ReserveSlots(uint32_t count) {
  if (count > kMaxSlots) {
    return absl::ResourceExhaustedError(StrCat("a session has at most ", kMaxSlots, " targets"));
  }
  return impl_->slots->Reserve(count);
}

void Programs::ReserveSlotsMeanwhile(uint32_t count) {
  impl_->slots->ReserveMeanwhile(std::min(count, kMaxSlots));
}

absl::Status Programs::ReserveNativeSlots() { return impl_->slots->ReserveNative(); }

sb_slot& Programs::slot(uint32_t index) { return impl_->slots->slot(index); }

absl::Status Programs::SetNativeSite(RemoteAddr address, const sb_native_site& site) {
  if (bpf_map__update_elem(impl_->skeleton->maps.native_sites, &address.value,
                           sizeof(address.value), &site, sizeof(site), BPF_ANY) != 0) {
    return ErrnoStatus(errno, "the table of native functions");
  }
  return absl::OkStatus();
}

void Programs::DeleteNativeSite(RemoteAddr address) {
  bpf_map__delete_elem(impl_->skeleton->maps.native_sites, &address.value, sizeof(address.value),
                       0);
}

std::array<uint64_t, SB_SKIP_REASONS> Programs::skipped() const {
  std::array<uint64_t, SB_SKIP_REASONS> counts;
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] = __atomic_load_n(&impl_->skeleton->bss->skipped[i], __ATOMIC_RELAXED);
  }
  return counts;
}

void Programs::CountSkip(sb_skip reason) {
  __atomic_fetch_add(&impl_->skeleton->bss->skipped[reason], 1, __ATOMIC_RELAXED);
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
  return __atomic_load_n(&impl_->skeleton->bss->pending_added, __ATOMIC_ACQUIRE) !=
         impl_->pending_taken;
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
      ++impl_->pending_taken;
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

int Programs::sleep_request_fd() const { return ring_buffer__epoll_fd(impl_->sleep_ring); }

void Programs::ConsumeSleepRequests(
    const std::function<void(const sb_sleep_request&)>& on_request) {
  impl_->on_sleep_request = on_request;
  ring_buffer__consume(impl_->sleep_ring);
}

bool Programs::ClaimBed(const sb_sleep_request& request) {
  if (request.bed >= SB_BEDS) return false;
  __u64 expected = request.sequence;
  return __atomic_compare_exchange_n(&impl_->skeleton->bss->beds[request.bed].owner, &expected,
                                     request.sequence | SB_BED_CLAIMED, /*weak=*/false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void Programs::ReturnBed(const sb_sleep_request& request) {
  __u64 expected = request.sequence | SB_BED_CLAIMED;
  __atomic_compare_exchange_n(&impl_->skeleton->bss->beds[request.bed].owner, &expected, 0,
                              /*weak=*/false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

}  // namespace sbump
