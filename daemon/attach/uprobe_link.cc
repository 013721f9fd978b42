#include "daemon/attach/uprobe_link.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <numeric>
#include <vector>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// union bpf_attr, member link_create with its uprobe_multi arm (include/uapi/linux/bpf.h,
// Linux 6.6).
struct LinkCreate {
  uint32_t program_fd;
  uint32_t target_fd;
  uint32_t attach_type;
  uint32_t flags;
  uint64_t path;
  uint64_t offsets;
  uint64_t ref_ctr_offsets;
  uint64_t cookies;
  uint32_t count;
  uint32_t multi_flags;
  uint32_t pid;
  uint32_t pad;
};
static_assert(sizeof(LinkCreate) == 64);

constexpr uint32_t kReturn = 1;  // BPF_F_UPROBE_MULTI_RETURN

struct Offsets {
  const uint64_t* first = nullptr;
  const uint64_t* cookies = nullptr;  // none: the program asks for no cookie
  uint32_t count = 1;
};

Fd LinkCreateSyscall(int program_fd, pid_t pid, const char* path, const Offsets& offsets,
                     bool on_return) {
  LinkCreate request{};
  request.program_fd = static_cast<uint32_t>(program_fd);
  request.attach_type = kAttachTypeUprobeMulti;
  request.path = reinterpret_cast<uint64_t>(path);
  request.offsets = reinterpret_cast<uint64_t>(offsets.first);
  request.cookies = reinterpret_cast<uint64_t>(offsets.cookies);
  request.count = offsets.count;
  request.multi_flags = on_return ? kReturn : 0;
  request.pid = static_cast<uint32_t>(pid);
  return Fd(static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &request, sizeof(request))));
}

// A kernel that knows the link looks at the path first and finds a directory (EBADF); another knows
// no such type. The first that knew it (6.6) took the pid for one thread's: calls of the others
// would be missed. Those since (upstream commit 46ba0e49b642, 6.10) refuse a negative pid before
// they look at the path (EINVAL). As libbpf asks, in probe_uprobe_multi_link().
bool AskKernel() {
  const bpf_insn do_nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
                                 {.code = BPF_JMP | BPF_EXIT}};
  bpf_prog_load_opts options{};
  options.sz = sizeof(options);
  options.expected_attach_type = static_cast<bpf_attach_type>(kAttachTypeUprobeMulti);
  const Fd program(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "sb_probe", "GPL", do_nothing, 2, &options));
  if (!program.valid()) return false;
  const uint64_t offset = 0;
  const auto answers = [&](pid_t pid, int error) {
    const Fd link = LinkCreateSyscall(program.get(), pid, "/", {.first = &offset}, false);
    return !link.valid() && errno == error;
  };
  return answers(0, EBADF) && answers(-1, EINVAL);
}

// --config=without-uprobe-multi
#ifdef SBUMP_WITHOUT_UPROBE_MULTI
constexpr bool kAsksForUprobeMulti = false;
#else
constexpr bool kAsksForUprobeMulti = true;
#endif

constexpr char kPmu[] = "/sys/bus/event_source/devices/uprobe/";

absl::Status PlaceError(const UprobeSpec& spec) {
  const std::string where = spec.many_offsets.empty()
                                ? StrCat("offset ", spec.file_offset)
                                : StrCat(spec.many_offsets.size(), " offsets");
  return ErrnoStatus(errno, StrCat(spec.kind == UprobeKind::kMulti ? "uprobe_multi" : "uprobe",
                                   " at ", where, " of ", spec.path));
}

// The bit of perf_event_attr.config that makes it a probe on return: format/retprobe says
// "config:0".
uint64_t ReturnBit() {
  std::string format;
  std::ifstream(StrCat(kPmu, "format/retprobe")) >> format;
  unsigned bit = 0;
  const size_t colon = format.find(':');
  if (colon != std::string::npos)
    std::from_chars(format.data() + colon + 1, format.data() + format.size(), bit);
  return uint64_t{1} << (bit & 63);
}

Fd OpenMultiLink(const UprobeSpec& spec, int program_fd) {
  if (spec.many_offsets.empty()) {
    return LinkCreateSyscall(program_fd, spec.pid, spec.path.c_str(), {.first = &spec.file_offset},
                             spec.on_return);
  }
  std::vector<uint64_t> cookies(spec.many_offsets.size());
  std::iota(cookies.begin(), cookies.end(), 0);
  return LinkCreateSyscall(program_fd, spec.pid, spec.path.c_str(),
                           {.first = spec.many_offsets.data(),
                            .cookies = cookies.data(),
                            .count = static_cast<uint32_t>(cookies.size())},
                           spec.on_return);
}

absl::StatusOr<UprobeLink> OpenPerfLink(const UprobeSpec& spec, int program_fd) {
  UprobeLink opened;
  SB_ASSIGN_OR_RETURN(opened.event, OpenUprobeEvent(spec));
  opened.link =
      Fd(bpf_link_create(program_fd, opened.event.get(), BPF_PERF_EVENT, /*opts=*/nullptr));
  if (!opened.link.valid() || ioctl(opened.event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
    return PlaceError(spec);
  return opened;
}

}  // namespace

bool UprobesExist() { return access(StrCat(kPmu, "type").c_str(), R_OK) == 0; }

bool UprobeMultiWorks() {
  static const bool works = kAsksForUprobeMulti && AskKernel();
  return works;
}

absl::StatusOr<Fd> OpenUprobeEvent(const UprobeSpec& spec) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  std::ifstream(StrCat(kPmu, "type")) >> attributes.type;
  if (attributes.type == 0) return absl::FailedPreconditionError("the kernel has no uprobes");
  if (spec.on_return) attributes.config |= ReturnBit();
  attributes.uprobe_path = reinterpret_cast<uint64_t>(spec.path.c_str());
  attributes.probe_offset = spec.file_offset;
  Fd event(static_cast<int>(syscall(SYS_perf_event_open, &attributes, spec.pid, /*cpu=*/-1,
                                    /*group_fd=*/-1, PERF_FLAG_FD_CLOEXEC)));
  if (!event.valid()) return PlaceError(spec);
  return event;
}

absl::StatusOr<UprobeLink> OpenUprobe(const UprobeSpec& spec, int program_fd) {
  if (spec.kind == UprobeKind::kPerfEvent) return OpenPerfLink(spec, program_fd);
  UprobeLink opened;
  opened.link = OpenMultiLink(spec, program_fd);
  if (!opened.link.valid()) return PlaceError(spec);
  return opened;
}

}  // namespace sbump
