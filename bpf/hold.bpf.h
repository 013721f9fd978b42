/* SPDX-License-Identifier: GPL-2.0 */
/* Telling the daemon, and holding the thread until it answers. */
#ifndef SBUMP_BPF_HOLD_BPF_H_
#define SBUMP_BPF_HOLD_BPF_H_

#include "bpf/kernel.h"
#include "bpf/session.bpf.h"
#include "bpf/shared/event.h"
#include "bpf/spin.bpf.h"

struct sb_hold holds[SB_HOLDS] = {};
__u64 next_sequence = 0;
/* Holds in a row that ended without an answer; the daemon sets it to 0 whenever it listens. */
__u32 unanswered_holds = 0;

/* A process that ends frees all its code objects within some milliseconds. The daemon sets the size
 * before the load (config.event_bytes). */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1024 * 1024);
} events SEC(".maps");

static __always_inline bool tell(enum sb_event_kind kind, __u64 code, __u32 fingerprint,
                                 __u64 sequence, __u32 hold) {
  struct sb_event* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

  if (!event) {
    skip(kind == SB_EVENT_DEAD ? SB_SKIP_DEATH_UNTOLD : SB_SKIP_RING_FULL);
    return false;
  }
  event->code_addr = code;
  event->sequence = sequence;
  event->at_ns = bpf_ktime_get_ns();
  event->kind = kind;
  event->hold = hold;
  event->fingerprint = fingerprint;
  event->pad = 0;
  if (hold != SB_NOT_HELD)
    bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
  else /* the daemon looks now and then */
    bpf_ringbuf_submit(event, bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < config.event_bytes / 2
                                  ? BPF_RB_NO_WAKEUP
                                  : 0);
  return true;
}

struct wait {
  __u64 sequence;
  __u64 deadline_ns;
  __u64 ip;
  __u32 hold;
  bool answered;
  bool claimed;
};

static long wait_once(__u32 i, struct wait* wait) {
  struct sb_hold* hold = &holds[wait->hold & (SB_HOLDS - 1)];

  if (*(volatile __u64*)&hold->owner == (wait->sequence | SB_HOLD_ANSWERED)) {
    wait->answered = true;
    return 1;
  }
  if (bpf_ktime_get_ns() >= wait->deadline_ns) return 1;
  if (!wait->claimed && *(volatile __u32*)&control.abort) return 1;
  if ((i & 127) == 127) {
    if (!wait->claimed && task_must_go()) return 1;
    let_others_run(wait->ip);
  }
  return 0;
}

static __always_inline void leave(__u32 hold) {
  *(volatile __u64*)&holds[hold & (SB_HOLDS - 1)].owner = 0;
}

/* Unless the daemon has set it to something else meanwhile. */
static __always_inline bool leave_unanswered(__u32 hold, __u64 owner) {
  if (__sync_val_compare_and_swap(&holds[hold & (SB_HOLDS - 1)].owner, owner, 0) != owner)
    return false;

  skip(SB_SKIP_HOLD_TIMEOUT);
  __sync_fetch_and_add(&unanswered_holds, 1);
  return true;
}

/* Fails open: whatever goes wrong, the thread goes on, at the latest after config.hold_limit_ns, or
 * SB_CLAIM_LIMIT_NS after that where the daemon had begun to answer. */
static __always_inline void tell_and_hold(struct pt_regs* ctx, enum sb_event_kind kind, __u64 code,
                                          __u32 fingerprint) {
  __u64 sequence = __sync_fetch_and_add(&next_sequence, 1) + 1;
  struct wait wait = {
      .sequence = sequence,
      .deadline_ns = bpf_ktime_get_ns() + config.hold_limit_ns,
      .ip = ctx->rip,
      .hold = SB_NOT_HELD,
  };
  __u32 i;

  /* A daemon that is stopped or starved must not cost every new code object the whole limit. */
  if (unanswered_holds >= SB_MOST_UNANSWERED_HOLDS) {
    skip(SB_SKIP_HOLD_TIMEOUT);
    tell(kind, code, fingerprint, sequence, SB_NOT_HELD);
    return;
  }
  for (i = 0; i < SB_HOLDS; i++) {
    if (__sync_val_compare_and_swap(&holds[i].owner, 0, sequence) == 0) {
      wait.hold = i;
      break;
    }
  }
  if (wait.hold == SB_NOT_HELD) {
    skip(SB_SKIP_HOLDS_BUSY);
    tell(kind, code, fingerprint, sequence, SB_NOT_HELD);
    return;
  }
  if (!tell(kind, code, fingerprint, sequence, wait.hold)) {
    leave(wait.hold);
    return;
  }
  bpf_loop(1 << 23, wait_once, &wait, 0);
  if (!wait.answered) {
    if (leave_unanswered(wait.hold, sequence)) return;
    wait.claimed = true;
    wait.deadline_ns = bpf_ktime_get_ns() + SB_CLAIM_LIMIT_NS;
    bpf_loop(1 << 23, wait_once, &wait, 0);
    if (!wait.answered && leave_unanswered(wait.hold, sequence | SB_HOLD_CLAIMED)) return;
  }
  leave(wait.hold);
}

#endif /* SBUMP_BPF_HOLD_BPF_H_ */
