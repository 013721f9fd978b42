/* SPDX-License-Identifier: GPL-2.0 */
/* The slots: a hit is counted, and delayed where that is due. */
#ifndef SBUMP_BPF_COUNT_BPF_H_
#define SBUMP_BPF_COUNT_BPF_H_

#include "bpf/session.bpf.h"
#include "bpf/shared/module_entry.h"
#include "bpf/shared/slot.h"
#include "bpf/sleep.bpf.h"
#include "bpf/spin.bpf.h"

/* The slots, in chunks that the daemon adds as targets appear: a session costs the memory that it
 * needs. */
struct slot_chunk {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, SB_SLOTS_PER_CHUNK);
  /* by size: clang 14 leaves a type that stands only in an inner map incomplete in BTF */
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(struct sb_slot));
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, SB_SLOT_CHUNKS + 1 + SB_MODULE_CHUNKS); /* and SB_NATIVE_CHUNK */
  __type(key, __u32);
  __array(values, struct slot_chunk);
} slot_chunks SEC(".maps");

struct sb_thread_key {
  __u32 slot;
  __u32 tid;
};

/* The daemon sets the size before the load. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct sb_thread_key);
  __type(value, __u8);
} threads SEC(".maps");

static __always_inline void note_thread(struct sb_slot* slot, __u32 index) {
  struct sb_thread_key key = {.slot = index, .tid = (__u32)bpf_get_current_pid_tgid()};
  __u8 one = 1;
  long error;

  if (slot->last_thread == key.tid) return;
  slot->last_thread = key.tid;
  error = bpf_map_update_elem(&threads, &key, &one, BPF_NOEXIST);
  if (error == 0)
    __sync_fetch_and_add(&slot->threads_seen, 1);
  else if (error == -7 /* E2BIG */)
    skip(SB_SKIP_THREADS_FULL);
}

/* Returns what was injected; 0 where the daemon does it. */
static __always_inline __u64 delay(struct pt_regs* ctx, struct sb_slot* slot, __u32 index,
                                   __u32 trap_cost_ns, __u64 call, __u64 now_ns) {
  __u64 delay_ns = slot->delay_ns;
  __u64 every = slot->every;
  struct spin spin = {
      .ip = ctx->rip,
      .now_ns = now_ns,
      .reschedule_every_ns = RESCHEDULE_EVERY_NS,
  };
  __u64 injected_ns;
  bool is_clipped = false;

  if (delay_ns == 0 || now_ns < control.delay_from_ns || now_ns >= control.delay_until_ns) return 0;
  if (every > 1 && call % every != 0) return 0;
  spin.deadline_ns = now_ns + (delay_ns > trap_cost_ns ? delay_ns - trap_cost_ns : 0);
  if (config.sleeps && delay_ns >= SB_SHORTEST_SLEEP_NS) {
    struct sb_sleep_request request = {
        .begun_ns = now_ns,
        .delay_ns = delay_ns,
        .trap_cost_ns = trap_cost_ns,
        .slot = index,
    };

    /* It may be seconds: they end with the session. */
    is_clipped = spin.deadline_ns > control.delay_until_ns;
    if (is_clipped) spin.deadline_ns = control.delay_until_ns;
    request.wake_ns = spin.deadline_ns;
    if (sleep_or_spin(&request, &spin)) return 0;
    spin.aborted |= is_clipped;
  } else {
    run_spin(&spin);
    if (spin.now_ns < spin.deadline_ns) spin.aborted = true;
  }
  if (spin.aborted) skip(SB_SKIP_ABORTED_DELAY);
  injected_ns = spin.now_ns - now_ns + trap_cost_ns;
  sb_add_delay(slot, delay_ns, injected_ns);
  return injected_ns;
}

static __always_inline struct sb_slot* find_slot(__u32 index) {
  __u32 chunk = index / SB_SLOTS_PER_CHUNK;
  __u32 within = index % SB_SLOTS_PER_CHUNK;
  void* slots = bpf_map_lookup_elem(&slot_chunks, &chunk);

  return slots ? bpf_map_lookup_elem(slots, &within) : NULL;
}

/* Returns what was injected. */
static __always_inline __u64 count_and_delay(struct pt_regs* ctx, __u32 index, __u32 trap_cost_ns,
                                             __u64 now_ns) {
  struct sb_slot* slot = find_slot(index);
  __u64 call;

  if (!slot) return 0;
  call = __sync_fetch_and_add(&slot->calls, 1) + 1;
  if (slot->first_hit_ns == 0) __sync_val_compare_and_swap(&slot->first_hit_ns, 0, now_ns);
  slot->last_hit_ns = now_ns;
  note_thread(slot, index);
  return delay(ctx, slot, index, trap_cost_ns, call, now_ns);
}

#endif /* SBUMP_BPF_COUNT_BPF_H_ */
