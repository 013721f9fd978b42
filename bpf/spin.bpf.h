/* SPDX-License-Identifier: GPL-2.0 */
/* A thread that waits inside a program, for a time or for an answer. */
#ifndef SBUMP_BPF_SPIN_BPF_H_
#define SBUMP_BPF_SPIN_BPF_H_

#include "bpf/kernel.h"
#include "bpf/session.bpf.h"

#define SIGKILL_BIT (1ul << 8)
/* JOBCTL_STOP_PENDING, JOBCTL_TRAP_STOP, JOBCTL_TRAP_NOTIFY, JOBCTL_TRAP_FREEZE:
 * include/linux/sched/jobctl.h */
#define JOBCTL_WANTS_STOP ((1ul << 17) | (1ul << 19) | (1ul << 20) | (1ul << 23))

/* By reads that the verifier need not follow: each access to a typed pointer has it look through
 * all names of the kernel's types (6.3 and later). These here took 20 ms of each attach.
 */
static __always_inline bool task_must_go(void) {
  struct task_struct* task = (struct task_struct*)bpf_get_current_task();
  unsigned long deadly = BPF_CORE_READ(task, pending.signal.sig[0]) |
                         BPF_CORE_READ(task, signal, shared_pending.signal.sig[0]);

  return (deadly & SIGKILL_BIT) || (BPF_CORE_READ(task, jobctl) & JOBCTL_WANTS_STOP);
}

/* Under preempt=none a BPF loop lets nobody else run on its CPU; get_user_pages() holds a
 * cond_resched(). The page at the instruction pointer was just executed from, or, at a return
 * probe, is about to be.
 */
static __always_inline void let_others_run(__u64 ip) {
  __u64 unused;

  bpf_copy_from_user_task(&unused, sizeof(unused), (const void*)(ip & ~4095ull),
                          bpf_get_current_task_btf(), 0);
}

/* The caller sets deadline_ns, ip, now_ns and reschedule_every_ns. */
struct spin {
  __u64 deadline_ns;
  __u64 reschedule_every_ns;
  __u64 reschedule_ns;
  __u64 ip;
  __u64 now_ns;
  bool aborted;
};

#define RESCHEDULE_EVERY_NS 1000000

static long spin_once(__u32 i, struct spin* spin) {
  spin->now_ns = bpf_ktime_get_ns();
  if (spin->now_ns >= spin->deadline_ns) return 1;
  if (*(volatile __u32*)&control.abort) {
    spin->aborted = true;
    return 1;
  }
  if ((i & 255) == 255 && task_must_go()) {
    spin->aborted = true;
    return 1;
  }
  if (spin->now_ns >= spin->reschedule_ns) {
    spin->reschedule_ns = spin->now_ns + spin->reschedule_every_ns;
    let_others_run(spin->ip);
  }
  return 0;
}

/* Burns CPU until the deadline, at most 2^23 turns (0.2 s). Sets aborted, and now_ns, which is
 * before the deadline where it was out of turns.
 */
static __always_inline void run_spin(struct spin* spin) {
  spin->reschedule_ns = spin->now_ns + spin->reschedule_every_ns;
  bpf_loop(1 << 23, spin_once, spin, 0);
}

#endif /* SBUMP_BPF_SPIN_BPF_H_ */
