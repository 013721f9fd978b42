/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What is known of one code object, by its address. */
#ifndef SBUMP_BPF_SHARED_VERDICT_H_
#define SBUMP_BPF_SHARED_VERDICT_H_

#include "bpf/shared/types.h"

#define SB_NO_SLOT 0xffffffffu /* looked at, and no pattern matches */

#define SB_VERDICT_GENERATOR 1u /* entered again on each resume (OPCACHE_FLAG): look at f_lasti */
#define SB_VERDICT_DISMISSED 2u /* by BPF: the daemon was not asked */

struct sb_verdict {
  __u64 unit_addr;   /* the first RESUME unit; 0 in OPCACHE_FLAG */
  __u32 fingerprint; /* of the code object: a mismatch means that the address was used again */
  __u32 slot;        /* index into the slots, or SB_NO_SLOT */
  __u32 flags;
  __u32 pad;
};
SB_STATIC_ASSERT(sizeof(struct sb_verdict) == 24, "sb_verdict has no hidden padding");

#define SB_FINGERPRINT_BYTES 32

/* Mixes the 32 bytes of a code object that never change (argument counts, flags, first line) into
 * 32 bits; an odd multiplier (2^64 / golden ratio) per word, the high half kept.
 */
static inline __u32 sb_fingerprint(const __u64 words[SB_FINGERPRINT_BYTES / 8]) {
  __u64 hash = 0;
  int i;

  for (i = 0; i < SB_FINGERPRINT_BYTES / 8; i++) hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ull;
  return (__u32)(hash >> 32);
}

#endif /* SBUMP_BPF_SHARED_VERDICT_H_ */
