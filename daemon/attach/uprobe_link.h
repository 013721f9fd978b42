// One uprobe of the kernel with one of our programs behind it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"

namespace sbump {

// The kernel has two kinds of links. Closing one of the newer kind (uprobe_multi, Linux 6.6) takes
// 30 to 50 ms and runs beside others; a perf event's takes about 90 ms under a machine-wide lock,
// one after the other.
//
// The price: a process forked from the target while a uprobe_multi is open keeps the breakpoint
// (0.5 us per pass) until the link is closed. So the hit site, which children pass often, stays
// with perf events, and this is for the rare sites; and for the hit site where the children are
// attached to themselves, or where so many processes are that an end would take seconds.
enum class UprobeKind : uint32_t { kPerfEvent, kMulti };

struct UprobeSpec {
  UprobeKind kind{};
  pid_t pid = 0;
  std::string path;
  uint64_t file_offset = 0;
  bool on_return = false;
  // kMulti: in place of file_offset one link at all of these, at most kMostOffsets. The program
  // knows which by bpf_get_attach_cookie(): the place in this list.
  std::vector<uint64_t> many_offsets;
};
inline constexpr size_t kMostOffsets = 16384;

// Open as long as the descriptors.
struct UprobeLink {
  Fd event;  // perf events only
  Fd link;
};

// Whether the kernel has perf events for uprobes at all.
bool UprobesExist();

// kMulti: asked of the kernel once.
bool UprobeMultiWorks();

// BPF_TRACE_UPROBE_MULTI of include/uapi/linux/bpf.h: what such a program declares before it is
// loaded. Debian 12's headers are older than that.
inline constexpr int kAttachTypeUprobeMulti = 48;

absl::StatusOr<UprobeLink> OpenUprobe(const UprobeSpec& spec, int program_fd);

// The kernel's probe without a program: it calls nothing.
absl::StatusOr<Fd> OpenUprobeEvent(const UprobeSpec& spec);

}  // namespace sbump
