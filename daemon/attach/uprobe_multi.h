// Uprobe links of the kernel's newer kind (uprobe_multi, Linux 6.6). Closing one takes 30 to 50 ms
// and runs beside others; a perf event's takes about 90 ms under a machine-wide lock, one after the
// other.
//
// The price: a process forked from the target while the link is open keeps the breakpoint (0.5 us
// per pass) until the link is closed. So the hit site, which children pass often, stays with perf
// events, and this is for the rare sites.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"

namespace sbump {

// BPF_TRACE_UPROBE_MULTI of include/uapi/linux/bpf.h: what such a program declares before it is
// loaded. Debian 12's headers are older than that.
inline constexpr int kAttachTypeUprobeMulti = 48;

// Asked of the kernel once.
bool UprobeMultiWorks();

// A link that lives as long as the descriptor.
absl::StatusOr<Fd> OpenUprobeMulti(int program_fd, pid_t pid, const std::string& path,
                                   uint64_t file_offset, bool on_return);

}  // namespace sbump
