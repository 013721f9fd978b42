/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What one session's programs need to know about their target's interpreter, the same in each
 * process that runs its file. It is read-only once they are loaded, so that the verifier removes
 * the branches that this Python version does not need. BPF knows no Python version: only the
 * numbers here.
 */
#ifndef SBUMP_BPF_SHARED_CONFIG_H_
#define SBUMP_BPF_SHARED_CONFIG_H_

#include "bpf/shared/types.h"

/* How a frame's start is told from its resumption, and armed code from other code (see
 * daemon/cpython/layout.h). */
enum sb_arming {
  SB_ARMING_OPCACHE_FLAG = 0,
  SB_ARMING_RESUME_QUICK = 1,
  SB_ARMING_INSTRUMENTED_RESUME = 2,
};

struct sb_config {
  __u64 hold_limit_ns;    /* a thread waits at most this long for the daemon */
  __u64 trap_cost_ns;     /* what a hit costs beside the program's own time; part of every dose */
  __u64 module_code_name; /* sb_text_hash of "<module>" */
  __u32 arming;
  /* x86-64 register numbers at the site, as in daemon/cpython/sites.h. */
  __u8 code_register; /* 0xff: the code object is read from the frame */
  __u8 frame_register;
  __u8 unit_register;
  __u8 thread_register; /* 0xff: none */
  __u8 instrumented_opcode;
  __u8 passed_once; /* non-zero: a stale instrumentation version does not pass the site */
  __u8 sleeps;      /* non-zero: long delays ask the daemon to hold the thread (bed.h) */
  __u8 on_resume;   /* non-zero: each entry of a frame is a hit, not only its first */
  /* Offsets in bytes. */
  __u32 fingerprint;
  __u32 co_opcache_flag;
  __u32 thread_frame;
  __u32 thread_tracing;
  __u32 thread_exception; /* OPCACHE_FLAG: curexc_type */
  __u32 frame_lasti;
  __u32 co_firsttraceable;
  __u32 co_code_adaptive;
  __u32 co_filename;
  __u32 code_name;  /* co_qualname; co_name where there is none */
  __u32 ascii_data; /* of a compact ASCII str: its text */
  __u32 frame_code;
  __u32 event_bytes;    /* size of the ring buffer `events` */
  __u16 head_shift;     /* how much longer PyObject is than 16 bytes */
  __u16 holds_at_entry; /* non-zero: free-threaded; others can call what one thread introduces */
  __u32 never;          /* 0 (bpf/own_stack.bpf.h) */
};
SB_STATIC_ASSERT(sizeof(struct sb_config) == 96, "sb_config has no hidden padding");

/* Written by the daemon at any time, read by the programs. */
struct sb_control {
  __u64 delay_from_ns;  /* CLOCK_MONOTONIC; no delay before */
  __u64 delay_until_ns; /* no delay from here on: end of the window, or of the session's ttl */
  __u32 abort; /* non-zero: spins and holds end now, no new ones begin, nothing is counted */
  __u32 opcache_limit; /* OPCACHE_FLAG: co_opcache_flag at which a code object is about to get its
                          opcache */
  __u32 filters_names; /* non-zero: what is not in wanted_names cannot match */
  __u32 asks_modules;  /* non-zero: a module's own code is always the daemon's */
  /* Where this process has them: another one's are elsewhere. Before the first link. */
  __u64 current_thread_addr; /* OPCACHE_FLAG: address of the running PyThreadState's pointer */
  __u64 code_type_addr;      /* &PyCode_Type */
  /* AT_RANDOM: where the kernel put 16 random bytes for this image, and what they are. */
  __u64 random_addr;
  __u64 random[2];
  __u64 memory; /* address of the image's mm_struct; 0 until a program has met it */
};
SB_STATIC_ASSERT(sizeof(struct sb_control) == 80, "sb_control has no hidden padding");

#endif /* SBUMP_BPF_SHARED_CONFIG_H_ */
