/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* One target: its dose and its counters. The slots are mapped into the daemon, so reading
 * costs no syscall. Everything that BPF writes is added atomically: a reschedule point lets another
 * thread run the same program on the same CPU in mid-program.
 */
#ifndef SBUMP_BPF_SHARED_SLOT_H_
#define SBUMP_BPF_SHARED_SLOT_H_

#include "bpf/shared/types.h"

/* Overshoot in nanoseconds: bucket 0 is [0, 1), then two buckets per power of two, up to 2^32 ns.
 */
#define SB_OVERSHOOT_BUCKETS 64

/* 21 pages: each process of a session has a chunk, most of them for a few targets. */
#define SB_SLOTS_PER_CHUNK 256
#define SB_SLOT_CHUNKS 512

struct sb_slot {
  /* Written by the daemon. */
  __u64 delay_ns;
  __u64 every; /* delay every Nth call; 0 and 1: every call */
  /* Written by BPF. */
  __u64 calls;
  __u64 delayed_calls;
  __u64 requested_delay_ns;
  __u64 injected_delay_ns;
  __u64 first_hit_ns; /* CLOCK_MONOTONIC; 0: never */
  __u64 last_hit_ns;
  __u32 threads_seen;
  __u32 last_thread; /* spares the lookup while one thread calls */
  __u32 overshoot[SB_OVERSHOOT_BUCKETS];
};
SB_STATIC_ASSERT(sizeof(struct sb_slot) == 72 + 4 * SB_OVERSHOOT_BUCKETS,
                 "sb_slot has no hidden padding");

static inline __u32 sb_overshoot_bucket(__u64 ns) {
  __u32 log2 = 0;
  __u32 bucket;

  if (ns < 1) return 0;
  if (ns >> 32) return SB_OVERSHOOT_BUCKETS - 1;
  if (ns >> 16) log2 += 16;
  if (ns >> (log2 + 8)) log2 += 8;
  if (ns >> (log2 + 4)) log2 += 4;
  if (ns >> (log2 + 2)) log2 += 2;
  if (ns >> (log2 + 1)) log2 += 1;
  bucket = 1 + 2 * log2 + (log2 ? (ns >> (log2 - 1)) & 1 : 0);
  return bucket < SB_OVERSHOOT_BUCKETS ? bucket : SB_OVERSHOOT_BUCKETS - 1;
}

/* Counts one delayed call; by BPF, and by the daemon for a thread that it held. */
static inline void sb_add_delay(struct sb_slot* slot, __u64 delay_ns, __u64 injected_ns) {
  __u64 over_ns = injected_ns > delay_ns ? injected_ns - delay_ns : 0;

  __sync_fetch_and_add(&slot->delayed_calls, 1);
  __sync_fetch_and_add(&slot->requested_delay_ns, delay_ns);
  __sync_fetch_and_add(&slot->injected_delay_ns, injected_ns);
  __sync_fetch_and_add(&slot->overshoot[sb_overshoot_bucket(over_ns) & (SB_OVERSHOOT_BUCKETS - 1)],
                       1);
}

/* The first value that falls into `bucket` or a later one. */
static inline __u64 sb_overshoot_bucket_start_ns(__u32 bucket) {
  __u32 log2;

  if (bucket == 0) return 0;
  log2 = (bucket - 1) / 2;
  if (log2 == 0) return 1;
  return (1ull << log2) + ((bucket - 1) % 2) * (1ull << (log2 - 1));
}

#endif /* SBUMP_BPF_SHARED_SLOT_H_ */
