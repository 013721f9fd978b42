/* SPDX-License-Identifier: GPL-2.0 */
/* Calls of modules that have begun and not ended: of which one this is the end. */
#ifndef SBUMP_BPF_OPEN_CALL_BPF_H_
#define SBUMP_BPF_OPEN_CALL_BPF_H_

#include "bpf/kernel.h"
#include "bpf/shared/span.h"

/* Stacks that greenlets take turns on have several calls at one place. */
struct sb_call_key {
  __u64 stack;
  __u64 caller;
  __u64 tid;
};

struct sb_open_call {
  __u64 stack;
  __u64 caller;
  __u64 object; /* address of the module */
};

/* The latest is the last one. No other thread looks at it. */
struct sb_thread_calls {
  __u32 count;
  __u32 mixed; /* not each is further down the stack than the one before: greenlets */
  /* Where it returned last: most have few such places. */
  __u64 site_address;
  struct sb_span_site site;
  struct sb_open_call call[SB_NESTED_CALLS];
};

/* What finds no place there. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, SB_OPEN_CALLS);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct sb_call_key);
  __type(value, __u64); /* address of the module */
} open_calls SEC(".maps");

__u64 calls_elsewhere = 0; /* in open_calls */

static __always_inline struct sb_open_call* call_at(struct sb_thread_calls* calls, __u32 place) {
  asm volatile("" : "+r"(place)); /* for the verifier: what bounds it is seen here */
  return &calls->call[place & (SB_NESTED_CALLS - 1)];
}

/* SB_NESTED_CALLS where it is not there. Verified by itself (it is not static): the verifier would
 * go on from each turn of the loop. */
__noinline __u32 place_of_call(struct sb_thread_calls* calls, __u64 stack, __u64 caller) {
  __u32 i;

  if (!calls) return SB_NESTED_CALLS;
  for (i = 0; i < SB_NESTED_CALLS && i < calls->count; i++) {
    if (calls->call[i].stack == stack && calls->call[i].caller == caller) return i;
  }
  return SB_NESTED_CALLS;
}

static __always_inline void remove_call(struct sb_thread_calls* calls, __u32 place) {
  __u32 last = calls->count - 1;

  if (place != last) {
    *call_at(calls, place) = *call_at(calls, last);
    calls->mixed = 1;
  }
  calls->count = last;
  if (last == 0) calls->mixed = 0;
}

static __always_inline bool open_elsewhere(const struct sb_call_key* key, __u64 object) {
  if (bpf_map_update_elem(&open_calls, key, &object, BPF_NOEXIST) == 0) {
    __sync_fetch_and_add(&calls_elsewhere, 1);
    return true;
  }
  if (bpf_map_delete_elem(&open_calls, key) == 0) __sync_fetch_and_add(&calls_elsewhere, -1);
  return false;
}

/* False where it cannot be followed: no room; or one that has the same key has not been seen to
 * end, and which of both will end cannot be told: both are forgotten. */
static __always_inline bool open_call(struct sb_thread_calls* calls, const struct sb_call_key* key,
                                      __u64 object) {
  struct sb_open_call* call;
  __u32 count = calls->count;
  __u32 place;

  if (count != 0 && key->stack >= call_at(calls, count - 1)->stack) calls->mixed = 1;
  if (calls->mixed || count >= SB_NESTED_CALLS) {
    place = place_of_call(calls, key->stack, key->caller);
    if (place < SB_NESTED_CALLS) {
      remove_call(calls, place);
      return false;
    }
  }
  if (count >= SB_NESTED_CALLS) return open_elsewhere(key, object);
  call = call_at(calls, count);
  call->stack = key->stack;
  call->caller = key->caller;
  call->object = object;
  calls->count = count + 1;
  return true;
}

static __always_inline bool is_any_open(struct sb_thread_calls* calls) {
  return calls_elsewhere || calls->count != 0;
}

/* False: none that is open is at this place of the stack. */
static __always_inline bool may_end_call(struct sb_thread_calls* calls, __u64 stack) {
  if (calls_elsewhere || calls->count == 0) return true;
  return calls->mixed || call_at(calls, calls->count - 1)->stack <= stack;
}

/* Returns the module; 0 where it is not the end of one that is open. */
static __always_inline __u64 close_call(struct sb_thread_calls* calls,
                                        const struct sb_call_key* key) {
  __u64 object, *elsewhere;
  __u32 place;

  if (calls->count != 0) {
    place = calls->count - 1;
    if (call_at(calls, place)->stack != key->stack || call_at(calls, place)->caller != key->caller)
      place = place_of_call(calls, key->stack, key->caller);
    if (place < SB_NESTED_CALLS) {
      object = call_at(calls, place)->object;
      remove_call(calls, place);
      return object;
    }
  }
  elsewhere = calls_elsewhere ? bpf_map_lookup_elem(&open_calls, key) : NULL;
  if (!elsewhere) return 0;
  object = *elsewhere;
  if (bpf_map_delete_elem(&open_calls, key) == 0) __sync_fetch_and_add(&calls_elsewhere, -1);
  return object;
}

#endif /* SBUMP_BPF_OPEN_CALL_BPF_H_ */
