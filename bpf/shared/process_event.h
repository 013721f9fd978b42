/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What becomes of the processes that sessions follow. */
#ifndef SBUMP_BPF_SHARED_PROCESS_EVENT_H_
#define SBUMP_BPF_SHARED_PROCESS_EVENT_H_

#include "bpf/shared/types.h"

enum sb_process_event_kind {
  SB_PROCESS_FORKED = 0,   /* a new process, not a thread */
  SB_PROCESS_EXECUTED = 1, /* runs another program from here on */
};

struct sb_process_event {
  __u64 owner;             /* of the session that follows it */
  __u64 at_ns;             /* CLOCK_MONOTONIC */
  __u64 start_boottime_ns; /* CLOCK_BOOTTIME; with its number it names the process */
  __u32 kind;
  __u32 pid;
  __u32 parent_pid;    /* FORKED */
  __u32 shares_memory; /* FORKED: with its parent, as after vfork(2): nothing of its own to attach
                          to */
};
SB_STATIC_ASSERT(sizeof(struct sb_process_event) == 40, "sb_process_event has no hidden padding");

#endif /* SBUMP_BPF_SHARED_PROCESS_EVENT_H_ */
