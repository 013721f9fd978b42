/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What is known of one probed instruction of a native function, by its address in the process. */
#ifndef SBUMP_BPF_SHARED_NATIVE_SITE_H_
#define SBUMP_BPF_SHARED_NATIVE_SITE_H_

#include "bpf/shared/slot.h"
#include "bpf/shared/types.h"

/* Most native functions of one session. */
#define SB_NATIVE_SITES 128

/* Their slots are a chunk of their own, behind those of the code objects, whose number grows. */
#define SB_NATIVE_CHUNK SB_SLOT_CHUNKS
#define SB_FIRST_NATIVE_SLOT (SB_NATIVE_CHUNK * SB_SLOTS_PER_CHUNK)

struct sb_native_site {
  __u32 slot;
  __u32 trap_cost_ns; /* of its kind of instruction; part of every dose */
};
SB_STATIC_ASSERT(SB_NATIVE_SITES <= SB_SLOTS_PER_CHUNK, "native slots fit into one chunk");

#endif /* SBUMP_BPF_SHARED_NATIVE_SITE_H_ */
