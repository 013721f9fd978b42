/* SPDX-License-Identifier: GPL-2.0 */
/* A thread that asks the daemon to hold it, so that a long delay costs no CPU. It spins until the
 * daemon comes, and to the end where it does not.
 */
#ifndef SBUMP_BPF_SLEEP_BPF_H_
#define SBUMP_BPF_SLEEP_BPF_H_

#include "bpf/pid.bpf.h"
#include "bpf/session.bpf.h"
#include "bpf/shared/bed.h"
#include "bpf/spin.bpf.h"

struct sb_bed beds[SB_BEDS] = {};
__u64 next_sleep = 0;

/* Room for more than a request from each bed. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);
} sleep_requests SEC(".maps");

#define NO_BED SB_BEDS

/* The daemon may be about to run on this very CPU. */
#define RESCHEDULE_WHILE_ASKING_NS 20000

static __always_inline __u32 take_bed(__u64 sequence) {
  __u32 i;

  for (i = 0; i < SB_BEDS; i++) {
    if (__sync_val_compare_and_swap(&beds[i].owner, 0, sequence) == 0) return i;
  }
  return NO_BED;
}

/* `owner`: the sequence, or with SB_BED_CLAIMED. False: the daemon has claimed it, or given it
 * back.
 */
static __always_inline bool leave_bed(__u32 bed, __u64 owner) {
  return __sync_val_compare_and_swap(&beds[bed & (SB_BEDS - 1)].owner, owner, 0) == owner;
}

/* The daemon gives a bed back when the delay is over, or at once where it cannot hold the thread.
 */
static __always_inline bool is_claimed(__u32 bed, __u64 sequence) {
  return *(volatile __u64*)&beds[bed & (SB_BEDS - 1)].owner == (sequence | SB_BED_CLAIMED);
}

/* The request's sequence, tid and bed are filled in here. False: the daemon cannot be asked. */
static __always_inline bool ask_for_bed(struct sb_sleep_request* request) {
  request->tid = thread_number((struct task_struct*)bpf_get_current_task_btf());
  request->sequence = __sync_fetch_and_add(&next_sleep, 1) + 1;
  request->bed = take_bed(request->sequence);
  if (request->bed == NO_BED) return false;
  if (bpf_ringbuf_output(&sleep_requests, request, sizeof(*request), BPF_RB_FORCE_WAKEUP) == 0)
    return true;
  leave_bed(request->bed, request->sequence);
  return false;
}

struct stop_wait {
  __u64 sequence;
  __u64 deadline_ns;
  __u64 ip;
  __u32 bed;
  bool stops;
};

static long await_stop_once(__u32 i, struct stop_wait* wait) {
  if (!is_claimed(wait->bed, wait->sequence)) return 1;
  if (task_must_go()) {
    wait->stops = true;
    return 1;
  }
  if (bpf_ktime_get_ns() >= wait->deadline_ns) return 1;
  if ((i & 127) == 127) let_others_run(wait->ip);
  return 0;
}

/* True: the daemon holds the thread as soon as it leaves the program, and accounts for the delay.
 * False: the delay was a spin, as *spin tells.
 */
static __always_inline bool sleep_or_spin(struct sb_sleep_request* request, struct spin* spin) {
  struct stop_wait wait = {.ip = spin->ip};

  if (!ask_for_bed(request)) {
    skip(SB_SKIP_NO_BED);
    run_spin(spin);
    return false;
  }
  spin->reschedule_every_ns = RESCHEDULE_WHILE_ASKING_NS;
  run_spin(spin);
  if (!leave_bed(request->bed, request->sequence)) {
    /* Stopped anywhere else, it could be in the middle of a system call. */
    wait.sequence = request->sequence;
    wait.bed = request->bed;
    wait.deadline_ns = bpf_ktime_get_ns() + SB_BED_PATIENCE_NS;
    bpf_loop(1 << 23, await_stop_once, &wait, 0);
    if (wait.stops) return true;
    leave_bed(request->bed, request->sequence | SB_BED_CLAIMED);
  }
  if (!spin->aborted) skip(SB_SKIP_NOT_HELD);
  return false;
}

#endif /* SBUMP_BPF_SLEEP_BPF_H_ */
