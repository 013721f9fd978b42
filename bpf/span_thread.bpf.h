/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs keep of a thread whose calls are told, and the event that they make there: a
 * part of it is sent. No other thread looks at it.
 */
#ifndef SBUMP_BPF_SPAN_THREAD_BPF_H_
#define SBUMP_BPF_SPAN_THREAD_BPF_H_

#include "bpf/kernel.h"
#include "bpf/open_call.bpf.h"
#include "bpf/pid.bpf.h"
#include "bpf/shared/span.h"

__u64 spans_lost = 0; /* calls whose begin found no room (an end that finds none leaves it open),
                         and operators of which either found none */

struct sb_span_layout span_layout = {};

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, SB_SPAN_BYTES);
} spans SEC(".maps");

#define SB_SPAN_LEVELS 8 /* sequences inside each other, those of the arguments among them */

/* A sequence that is being looked through. */
struct sb_span_level {
  __u64 cursor; /* where the next item's address is */
  __u64 key;    /* as in sb_span_tensor; SB_SPAN_OWN_KEY: each item's own, 8 bytes before it */
  __u32 left;
  __u32 stride;
};
#define SB_SPAN_OWN_KEY 1ull

struct sb_open_operator {
  __u64 stack;     /* stack pointer where it begins: the return address is there; 0: none is open */
  __u64 return_to; /* that address */
  __u64 number;
};

struct sb_span_thread {
  struct sb_thread_calls calls;
  struct sb_open_operator operation;
  __u64 levels;
  struct sb_span_level level[SB_SPAN_LEVELS];
  struct sb_span_event event;
};

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct sb_span_thread);
} span_threads SEC(".maps");

/* NULL: it has begun no call yet. */
static __always_inline struct sb_span_thread* this_thread(void) {
  return bpf_task_storage_get(&span_threads, bpf_get_current_task_btf(), NULL, 0);
}

/* NULL: there is no memory. */
static __always_inline struct sb_span_thread* this_thread_from_now_on(void) {
  return bpf_task_storage_get(&span_threads, bpf_get_current_task_btf(), NULL,
                              BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline struct sb_span_event* new_span_event(struct sb_span_thread* thread,
                                                            __u64 object,
                                                            const struct sb_call_key* key,
                                                            __u32 kind) {
  struct sb_span_event* event = &thread->event;

  event->object = object;
  event->stack = key->stack;
  event->caller = key->caller;
  event->delay_ns = 0;
  event->unknown_type = 0;
  event->tid = thread_number(bpf_get_current_task_btf());
  event->kind = kind;
  event->flags = span_layout.knows_tensors ? 0 : SB_SPAN_BLIND;
  event->tensors = 0;
  event->words = 0;
  thread->levels = 0;
  return event;
}

/* The daemon looks now and then. */
static __always_inline __u64 wakes_daemon(void) {
  return bpf_ringbuf_query(&spans, BPF_RB_AVAIL_DATA) <
                 bpf_ringbuf_query(&spans, BPF_RB_RING_SIZE) / 4
             ? BPF_RB_NO_WAKEUP
             : 0;
}

/* False: there is no room. */
static __always_inline bool send_span_event(struct sb_span_event* event) {
  __u64 bytes = SB_SPAN_HEAD_BYTES + 8ull * event->words;

  asm volatile("" : "+r"(bytes)); /* for the verifier: checked where it is used */
  if (bytes > sizeof(*event)) return false;
  return bpf_ringbuf_output(&spans, event, bytes, wakes_daemon()) == 0;
}

#endif /* SBUMP_BPF_SPAN_THREAD_BPF_H_ */
