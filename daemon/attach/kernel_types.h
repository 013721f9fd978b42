// The kernel's types that bpf/kernel.h names, in a file of some KiB. Without it libbpf reads all
// that the kernel has (5 MB) anew for each session that it loads programs for.
#pragma once

namespace sbump {

// For bpf_object_open_opts.btf_custom_path; made at the first call and there until the process
// ends. Null: it could not be made, and libbpf finds what it needs by itself. Safe from any thread.
const char* KernelTypesPath();

}  // namespace sbump
