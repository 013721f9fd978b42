/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the programs tell the daemon through the ring buffer, and how it answers a thread that
 * waits. */
#ifndef SBUMP_BPF_SHARED_EVENT_H_
#define SBUMP_BPF_SHARED_EVENT_H_

#include "bpf/shared/types.h"

enum sb_event_kind {
  /* A code object that is in no map. Held unless `hold` is SB_NOT_HELD. */
  SB_EVENT_FIRST_SIGHT = 0,
  /* A matching code object is at the point where it can be armed (again). Held. */
  SB_EVENT_ARM = 1,
  /* A code object that was in the map is being freed. Not held. */
  SB_EVENT_DEAD = 2,
  /* 3.12 on: an interpreter was made, in which nothing has run yet. `code_addr` is 0. Held. */
  SB_EVENT_NEW_INTERPRETER = 3,
};

#define SB_NOT_HELD 0xffffffffu

struct sb_event {
  __u64 code_addr;
  __u64 sequence; /* of the hold's `owner` */
  __u64 at_ns;    /* CLOCK_MONOTONIC */
  __u32 kind;
  __u32 hold;        /* index into the holds, or SB_NOT_HELD */
  __u32 fingerprint; /* of the code object */
  __u32 pad;
};
SB_STATIC_ASSERT(sizeof(struct sb_event) == 40, "sb_event has no hidden padding");

/* A thread that waits for the daemon. Free while `owner` is 0.
 *
 * Each change of `owner` but the last is by compare-and-swap, so that the first of two is in force:
 * - The thread takes the hold: its event's sequence. Where nobody has come in time it leaves: 0.
 * - The daemon, before it writes, claims it: the sequence with SB_HOLD_CLAIMED. From then on the
 *   thread stays, and leaves (0) only where SB_CLAIM_LIMIT_NS have passed: the daemon has died, or
 *   was held up.
 * - The daemon answers: the sequence with SB_HOLD_ANSWERED. The thread has waited then.
 * - The thread, answered, gives the hold back: 0.
 */
#define SB_HOLDS 64
#define SB_HOLD_CLAIMED (1ull << 63)
#define SB_HOLD_ANSWERED (1ull << 62)
#define SB_CLAIM_LIMIT_NS 50000000ull
/* After so many in a row nobody waits until the daemon is seen to listen again. */
#define SB_MOST_UNANSWERED_HOLDS 4
struct sb_hold {
  __u64 owner;
};

/* Code that was called while no verdict existed: attributed by the daemon later. */
struct sb_pending {
  __u64 calls;
  __u32 fingerprint;
  __u32 pad;
};

/* Why something was not done. Counted; shown to the user in words (SkipReasonText).
 */
enum sb_skip {
  SB_SKIP_RING_FULL = 0,      /* the daemon could not be told */
  SB_SKIP_HOLDS_BUSY = 1,     /* all holds taken: went on without an answer */
  SB_SKIP_HOLD_TIMEOUT = 2,   /* the answer came too late */
  SB_SKIP_PENDING_FULL = 3,   /* a call that can never be attributed: missed */
  SB_SKIP_UNREADABLE = 4,     /* target memory could not be read at the site */
  SB_SKIP_THREADS_FULL = 5,   /* threads_seen is a lower bound */
  SB_SKIP_ADDRESS_REUSED = 6, /* a stale verdict was dropped */
  SB_SKIP_ABORTED_DELAY = 7,  /* a delay was cut short: signal, stop or detach */
  SB_SKIP_NOT_CODE = 8,       /* the object at the site is no code object */
  SB_SKIP_DEATH_UNTOLD = 9,   /* the daemon still lists a code object that is gone */
  SB_SKIP_UNKNOWN_SITE = 10,  /* a native function was called where it is not known to be */
  SB_SKIP_NO_BED = 11,        /* too many threads sleep: this one spun */
  SB_SKIP_NOT_HELD = 12,      /* the daemon did not come, or could not hold the thread: it spun */
  SB_SKIP_INTRODUCTION_LOST = 13, /* a code object went by unseen */
  SB_SKIP_MODULE_GONE = 14,       /* at a module's address was an object of another type */
  SB_SKIP_REASONS = 15,
};

#endif /* SBUMP_BPF_SHARED_EVENT_H_ */
