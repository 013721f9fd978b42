/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What is known of one callable object (a torch.nn.Module) of the process, by its address. */
#ifndef SBUMP_BPF_SHARED_MODULE_ENTRY_H_
#define SBUMP_BPF_SHARED_MODULE_ENTRY_H_

#include "bpf/shared/native_site.h"
#include "bpf/shared/slot.h"
#include "bpf/shared/types.h"
#include "bpf/shared/verdict.h"

/* Most that are known at once, whether they are targets or not. (A mixture of 256 experts in 60
 * layers has some 60,000.) The kernel takes some 20 bytes for each, used or not. */
#define SB_KNOWN_MODULES 131072
/* Types of these: an object of one of them that is not known is news. */
#define SB_MODULE_TYPES 16384

/* The slots of those that are targets are in chunks behind that of the native functions. */
#define SB_FIRST_MODULE_CHUNK (SB_NATIVE_CHUNK + 1)
#define SB_MODULE_CHUNKS 16
#define SB_FIRST_MODULE_SLOT (SB_FIRST_MODULE_CHUNK * SB_SLOTS_PER_CHUNK)
#define SB_MODULE_TARGETS (SB_MODULE_CHUNKS * SB_SLOTS_PER_CHUNK)

#define SB_MODULE_FOLLOWED 1u /* its calls are told, begin and end */

struct sb_module {
  __u64 type;         /* ob_type: a mismatch means that the address was used again */
  __u32 slot;         /* or SB_NO_SLOT */
  __u32 trap_cost_ns; /* part of every dose */
  __u32 flags;
  __u32 pad;
};
SB_STATIC_ASSERT(sizeof(struct sb_module) == 24, "sb_module has no hidden padding");

#endif /* SBUMP_BPF_SHARED_MODULE_ENTRY_H_ */
