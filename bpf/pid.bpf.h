/* SPDX-License-Identifier: GPL-2.0 */
/* Processes and threads by the numbers that the daemon knows them by: those of its pid namespace,
 * which is not the initial one where the daemon runs in a container.
 */
#ifndef SBUMP_BPF_PID_BPF_H_
#define SBUMP_BPF_PID_BPF_H_

#include "bpf/kernel.h"

/* The daemon's: the inode of /proc/self/ns/pid. */
const volatile __u32 pid_namespace = 0;

/* include/linux/proc_ns.h, PROC_PID_INIT_INO. */
#define INITIAL_PID_NAMESPACE 0xeffffffcu
/* include/linux/pid_namespace.h, MAX_PID_NS_LEVEL. */
#define MOST_NESTED_PID_NAMESPACES 32

/* 0: it is not to be seen from there. */
static __always_inline __u32 number_seen_by_daemon(struct pid* pid) {
  const char* numbers = (const char*)__builtin_preserve_access_index(&pid->numbers[0]);
  __u32 level = BPF_CORE_READ(pid, level);
  __u32 i;

  for (i = 0; i <= MOST_NESTED_PID_NAMESPACES && i <= level; i++) {
    const struct upid* one = (const struct upid*)(numbers + i * bpf_core_type_size(struct upid));
    if (BPF_CORE_READ(one, ns, ns.inum) == pid_namespace) return (__u32)BPF_CORE_READ(one, nr);
  }
  return 0;
}

static __always_inline __u32 thread_number(struct task_struct* task) {
  if (pid_namespace == INITIAL_PID_NAMESPACE) return (__u32)task->pid;
  return number_seen_by_daemon(BPF_CORE_READ(task, thread_pid));
}

static __always_inline __u32 process_number(struct task_struct* task) {
  if (pid_namespace == INITIAL_PID_NAMESPACE) return (__u32)task->tgid;
  return number_seen_by_daemon(BPF_CORE_READ(task, group_leader, thread_pid));
}

#endif /* SBUMP_BPF_PID_BPF_H_ */
