/* SPDX-License-Identifier: GPL-2.0 */
/* The few kernel structures that the programs look at, by name and relocated when they are loaded
 * (CO-RE), so that neither vmlinux.h nor the build machine's kernel matters. Field names:
 * include/linux/sched.h, sched/signal.h, pid.h. daemon/attach/kernel_types.cc names them as well.
 */
#ifndef SBUMP_BPF_KERNEL_H_
#define SBUMP_BPF_KERNEL_H_

#include <asm/ptrace.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
  unsigned long sig[1];
} sigset_t;

struct sigpending {
  sigset_t signal;
};

typedef struct {
  int counter;
} atomic_t;

struct signal_struct {
  atomic_t live;
  struct sigpending shared_pending;
};

struct mm_struct;

struct ns_common {
  unsigned int inum;
};

struct pid_namespace {
  struct ns_common ns;
};

struct upid {
  int nr;
  struct pid_namespace* ns;
};

struct pid {
  unsigned int level;
  struct upid numbers[1];
};

struct task_struct {
  struct mm_struct* mm;
  int pid;
  int tgid;
  struct task_struct* group_leader;
  struct pid* thread_pid;
  struct sigpending pending;
  struct signal_struct* signal;
  unsigned long jobctl;
  __u64 start_boottime;
};

#pragma clang attribute pop

#endif /* SBUMP_BPF_KERNEL_H_ */
