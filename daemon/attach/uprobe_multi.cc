#include "daemon/attach/uprobe_multi.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

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

Fd LinkCreateSyscall(int program_fd, pid_t pid, const char* path, const uint64_t* offset,
                     bool on_return) {
  LinkCreate request{};
  request.program_fd = static_cast<uint32_t>(program_fd);
  request.attach_type = kAttachTypeUprobeMulti;
  request.path = reinterpret_cast<uint64_t>(path);
  request.offsets = reinterpret_cast<uint64_t>(offset);
  request.count = 1;
  request.multi_flags = on_return ? kReturn : 0;
  request.pid = static_cast<uint32_t>(pid);
  return Fd(static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &request, sizeof(request))));
}

// A kernel that knows the link looks at the path first and finds a directory (EBADF); another knows
// no such type.
bool AskKernel() {
  const bpf_insn do_nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
                                 {.code = BPF_JMP | BPF_EXIT}};
  bpf_prog_load_opts options{};
  options.sz = sizeof(options);
  options.expected_attach_type = static_cast<bpf_attach_type>(kAttachTypeUprobeMulti);
  const Fd program(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "sb_probe", "GPL", do_nothing, 2, &options));
  if (!program.valid()) return false;
  const uint64_t offset = 0;
  const Fd link = LinkCreateSyscall(program.get(), 0, "/", &offset, false);
  return !link.valid() && errno == EBADF;
}

}  // namespace

bool UprobeMultiWorks() {
  static const bool works = AskKernel();
  return works;
}

absl::StatusOr<Fd> OpenUprobeMulti(int program_fd, pid_t pid, const std::string& path,
                                   uint64_t file_offset, bool on_return) {
  Fd link = LinkCreateSyscall(program_fd, pid, path.c_str(), &file_offset, on_return);
  if (!link.valid())
    return ErrnoStatus(errno, StrCat("uprobe_multi at offset ", file_offset, " of ", path));
  return link;
}

}  // namespace sbump
