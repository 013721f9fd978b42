// SPDX-License-Identifier: GPL-2.0
/* Tells of forks and execs of the processes that sessions follow. One object per daemon. */
#include "bpf/kernel.h"
#include "bpf/pid.bpf.h"
#include "bpf/shared/process_event.h"

char LICENSE[] SEC("license") = "GPL";

__u64 events_lost = 0;

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u32);   /* process */
  __type(value, __u64); /* owner */
} followed SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 256 * 1024);
} process_events SEC(".maps");

static __always_inline void tell(__u32 kind, __u64 owner, __u32 pid, __u32 parent_pid,
                                 __u32 shares_memory, __u64 start_boottime_ns) {
  struct sb_process_event* event = bpf_ringbuf_reserve(&process_events, sizeof(*event), 0);

  if (!event) {
    __sync_fetch_and_add(&events_lost, 1);
    return;
  }
  event->owner = owner;
  event->at_ns = bpf_ktime_get_ns();
  event->start_boottime_ns = start_boottime_ns;
  event->kind = kind;
  event->pid = pid;
  event->parent_pid = parent_pid;
  event->shares_memory = shares_memory;
  bpf_ringbuf_submit(event, 0);
}

/* Before the child runs for the first time. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(sb_fork, struct task_struct* parent, struct task_struct* child) {
  __u32 pid = process_number(child), parent_pid = process_number(parent);
  __u64* found;
  __u64 owner;

  if (pid == parent_pid) return 0; /* a thread */
  found = bpf_map_lookup_elem(&followed, &parent_pid);
  if (!found) return 0;
  owner = *found;
  if (bpf_map_update_elem(&followed, &pid, &owner, BPF_ANY) != 0) {
    __sync_fetch_and_add(&events_lost, 1);
    return 0;
  }
  tell(SB_PROCESS_FORKED, owner, pid, parent_pid, child->mm == parent->mm, child->start_boottime);
  return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(sb_exec, struct task_struct* task) {
  __u32 pid = process_number(task);
  __u64* owner = bpf_map_lookup_elem(&followed, &pid);

  if (owner) tell(SB_PROCESS_EXECUTED, *owner, pid, 0, 0, task->start_boottime);
  return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sb_exit, struct task_struct* task) {
  __u32 pid = process_number(task);

  if (task->signal->live.counter == 0) bpf_map_delete_elem(&followed, &pid);
  return 0;
}
