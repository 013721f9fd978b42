#include "daemon/attach/programs.h"

#include <bpf/libbpf.h>
#include <sys/utsname.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "daemon/attach/kernel_features.h"
#include "daemon/attach/kernel_types.h"
#include "daemon/attach/own_stack.h"
#include "daemon/attach/programs_impl.h"
#include "daemon/attach/uprobe_link.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"
#include "daemon/process/own_namespaces.h"

namespace sbump {
namespace {

constexpr uint32_t kEventBytes = 1024 * 1024;
constexpr uint32_t kFewEventBytes = 64 * 1024;
constexpr uint32_t kFewThreads = 16 * 1024;  // by target

// libbpf reports through a callback; its last warnings explain a failed load.
thread_local std::string* libbpf_messages = nullptr;

// What the verifier has to say is at the end of its log.
std::string Shortened(const std::string& text) {
  constexpr size_t kBegin = 200, kEnd = 600;
  if (text.size() <= kBegin + kEnd) return text;
  return StrCat(text.substr(0, kBegin), "\n[...]\n", text.substr(text.size() - kEnd));
}

int OnLibbpfMessage(libbpf_print_level level, const char* format, va_list args) {
  if (level == LIBBPF_DEBUG || libbpf_messages == nullptr) return 0;
  char* made = nullptr;
  const int length = vasprintf(&made, format, args);
  if (length < 0) return 0;
  const std::string message(made, static_cast<size_t>(length));
  free(made);
  // It complains about RLIMIT_MEMLOCK on kernels that no longer need it.
  if (message.find("MEMLOCK") != std::string::npos) return 0;
  if (libbpf_messages->size() < 4096) *libbpf_messages += Shortened(message);
  return length;
}

absl::Status LoadError(int error, const std::string& messages) {
  const std::string what = StrCat("cannot load the BPF programs: ", messages.substr(0, 1500));
  absl::Status status = ErrnoStatus(-error, what);
  if (status.code() == absl::StatusCode::kPermissionDenied) {
    return Annotate(status, "needs CAP_BPF and CAP_PERFMON (or root)");
  }
  if (absl::IsResourceExhausted(status)) {
    return Annotate(
        status, "sbumpd lacks memory or file descriptors: end other sessions, or raise its limits");
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

}  // namespace

Programs::Impl::~Impl() {
  if (ring != nullptr) ring_buffer__free(ring);
  if (sleep_ring != nullptr) ring_buffer__free(sleep_ring);
  if (span_ring != nullptr) ring_buffer__free(span_ring);
  slots.reset();
  if (skeleton != nullptr) frame_entry__destroy(skeleton);
}

bpf_program* Programs::Impl::Find(ProgramKind kind) const {
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
    case ProgramKind::kModuleHit:
      return skeleton->progs.sb_module_hit;
    case ProgramKind::kModuleHitMulti:
      return skeleton->progs.sb_module_hit_multi;
    case ProgramKind::kSpanBegin:
      return skeleton->progs.sb_span_begin;
    case ProgramKind::kSpanBeginMulti:
      return skeleton->progs.sb_span_begin_multi;
    case ProgramKind::kSpanEnd:
      return skeleton->progs.sb_span_end;
    case ProgramKind::kSpanEndMulti:
      return skeleton->progs.sb_span_end_multi;
    case ProgramKind::kOperatorBegin:
      return skeleton->progs.sb_operator_begin;
    case ProgramKind::kOperatorEnd:
      return skeleton->progs.sb_operator_end;
  }
  return nullptr;
}

void Programs::Impl::ChoosePrograms(const sb_config& config) const {
  const bool introduces = set.python && config.arming != SB_ARMING_OPCACHE_FLAG;
  bpf_program__set_autoload(skeleton->progs.sb_hit, set.python);
  bpf_program__set_autoload(skeleton->progs.sb_dealloc, set.python);
  bpf_program__set_autoload(skeleton->progs.sb_introduce_entry, introduces);
  bpf_program__set_autoload(skeleton->progs.sb_introduce_return, introduces);
  bpf_program__set_autoload(skeleton->progs.sb_interpreter_made,
                            set.python && config.arming == SB_ARMING_INSTRUMENTED_RESUME);
  bpf_program__set_autoload(skeleton->progs.sb_calibrate, set.calibration);
  bpf_program__set_autoload(skeleton->progs.sb_native_hit, set.native);
  bpf_program__set_autoload(skeleton->progs.sb_native_hit_multi, set.native && UprobeMultiWorks());
  const bool modules = set.modules && !set.spans;
  bpf_program__set_autoload(skeleton->progs.sb_module_hit, modules);
  bpf_program__set_autoload(skeleton->progs.sb_module_hit_multi, modules && UprobeMultiWorks());
  bpf_program__set_autoload(skeleton->progs.sb_span_begin, set.spans);
  bpf_program__set_autoload(skeleton->progs.sb_span_begin_multi, set.spans && UprobeMultiWorks());
  bpf_program__set_autoload(skeleton->progs.sb_span_end, set.spans);
  bpf_program__set_autoload(skeleton->progs.sb_span_end_multi, set.spans && UprobeMultiWorks());
  bpf_program__set_autoload(skeleton->progs.sb_operator_begin, set.operators);
  bpf_program__set_autoload(skeleton->progs.sb_operator_end, set.operators);
  for (ProgramKind kind :
       {ProgramKind::kHit, ProgramKind::kDealloc, ProgramKind::kIntroduceEntry,
        ProgramKind::kIntroduceReturn, ProgramKind::kInterpreterMade, ProgramKind::kNativeHitMulti,
        ProgramKind::kModuleHitMulti, ProgramKind::kSpanBeginMulti, ProgramKind::kSpanEndMulti,
        ProgramKind::kOperatorBegin, ProgramKind::kOperatorEnd}) {
    if (UsesMulti(kind)) {
      bpf_program__set_expected_attach_type(Find(kind),
                                            static_cast<bpf_attach_type>(kAttachTypeUprobeMulti));
    }
  }
}

absl::Status Programs::Impl::CheckStacks() const {
  bpf_program* program;
  bpf_object__for_each_program(program, skeleton->obj) {
    if (const int fd = bpf_program__fd(program); fd >= 0) SB_RETURN_IF_ERROR(CheckOwnStack(fd));
  }
  return absl::OkStatus();
}

bool Programs::Impl::UsesMulti(ProgramKind kind) const {
  const bool stays_clean_in_children =
      (kind == ProgramKind::kHit && !set.closes_quickly) || kind == ProgramKind::kCalibrate ||
      kind == ProgramKind::kNativeHit || kind == ProgramKind::kModuleHit ||
      kind == ProgramKind::kSpanBegin || kind == ProgramKind::kSpanEnd;
  return !stays_clean_in_children && UprobeMultiWorks();
}

absl::StatusOr<uint64_t> Programs::Impl::OpenLink(const ProbePoint& point, pid_t pid) const {
  return keeper->Open({.kind = UsesMulti(point.kind) ? UprobeKind::kMulti : UprobeKind::kPerfEvent,
                       .pid = pid,
                       .path = point.path,
                       .file_offset = point.file_offset,
                       .on_return = point.kind == ProgramKind::kIntroduceReturn ||
                                    point.kind == ProgramKind::kInterpreterMade,
                       .many_offsets = point.many_offsets},
                      bpf_program__fd(Find(point.kind)));
}

namespace {

template <typename Sample>
bool IsWhole(const Sample&, size_t size) {
  return size >= sizeof(Sample);
}

// Of which only a part is sent.
bool IsWhole(const sb_span_event& event, size_t size) {
  return size >= SB_SPAN_HEAD_BYTES && (size - SB_SPAN_HEAD_BYTES) / sizeof(__u64) >= event.words;
}

}  // namespace

template <typename Sample, std::function<void(const Sample&)> Programs::Impl::*handler>
absl::StatusOr<ring_buffer*> Programs::Impl::OpenRing(const bpf_map* map) {
  const auto on_sample = [](void* context, void* data, size_t size) {
    if (IsWhole(*static_cast<const Sample*>(data), size))
      (static_cast<Impl*>(context)->*handler)(*static_cast<const Sample*>(data));
    return static_cast<Impl*>(context)->takes_no_more ? -ECANCELED : 0;
  };
  ring_buffer* opened = ring_buffer__new(bpf_map__fd(map), on_sample, this, nullptr);
  if (opened == nullptr) return ErrnoStatus(errno, "opening a ring buffer");
  return opened;
}

absl::Status Programs::Impl::OpenRings() {
  SB_ASSIGN_OR_RETURN(ring, (OpenRing<sb_event, &Impl::on_event>(skeleton->maps.events)));
  SB_ASSIGN_OR_RETURN(
      sleep_ring,
      (OpenRing<sb_sleep_request, &Impl::on_sleep_request>(skeleton->maps.sleep_requests)));
  if (!set.spans) return absl::OkStatus();
  SB_ASSIGN_OR_RETURN(span_ring, (OpenRing<sb_span_event, &Impl::on_span>(skeleton->maps.spans)));
  return absl::OkStatus();
}

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
  if (set.one_of_several) {
    bpf_map__set_max_entries(impl->skeleton->maps.threads, kFewThreads);
    bpf_map__set_max_entries(impl->skeleton->maps.spans, SB_FEW_SPAN_BYTES);
  }
  if (set.operators && !set.one_of_several)
    bpf_map__set_max_entries(impl->skeleton->maps.spans, SB_OPERATOR_SPAN_BYTES);
  // The kernel makes room for tables at once.
  for (bpf_map* map : {impl->skeleton->maps.modules, impl->skeleton->maps.module_types})
    bpf_map__set_autocreate(map, set.modules);
  for (bpf_map* map : {impl->skeleton->maps.spans, impl->skeleton->maps.open_calls,
                       impl->skeleton->maps.span_threads, impl->skeleton->maps.span_sites,
                       impl->skeleton->maps.value_types})
    bpf_map__set_autocreate(map, set.spans);
  bpf_map__set_autocreate(impl->skeleton->maps.operators, set.operators);
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
bool Programs::closes_quickly() const { return impl_->set.closes_quickly; }

}  // namespace sbump
