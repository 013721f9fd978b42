/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* How a thread at a probe asks the daemon to hold it until its delay is over (--mode sleep),
 * instead of spinning.
 */
#ifndef SBUMP_BPF_SHARED_BED_H_
#define SBUMP_BPF_SHARED_BED_H_

#include "bpf/shared/types.h"

/* Free while `owner` is 0.
 *
 * The thread takes the bed by setting `owner` to its request's sequence, spins on, and gives it
 * back when the delay is over, both by compare-and-swap. The daemon, before it seizes the thread,
 * claims the bed by setting SB_BED_CLAIMED, by compare-and-swap too. From then on the thread leaves
 * the program only to stop where the daemon holds it, and the bed is the daemon's to give back; but
 * SB_BED_PATIENCE_NS after its delay the thread waits no longer and gives it back itself. Whoever
 * gives the bed back accounts for the delay.
 */
#define SB_BEDS 32
#define SB_BED_CLAIMED (1ull << 63)
#define SB_BED_PATIENCE_NS 10000000ull
struct sb_bed {
  __u64 owner;
};

/* Shorter delays spin: holding a thread costs some 30 us. */
#define SB_SHORTEST_SLEEP_NS 1000000ull

struct sb_sleep_request {
  __u64 sequence;
  __u64 begun_ns; /* CLOCK_MONOTONIC */
  __u64 wake_ns;  /* CLOCK_MONOTONIC: end of the delay, or of the session before it */
  __u64 delay_ns; /* asked for; with the trap's own cost, which wake_ns leaves out */
  __u32 trap_cost_ns;
  __u32 slot;
  __u32 tid; /* in the daemon's pid namespace; 0: not to be seen from there */
  __u32 bed;
};
SB_STATIC_ASSERT(sizeof(struct sb_sleep_request) == 48, "sb_sleep_request has no hidden padding");

#endif /* SBUMP_BPF_SHARED_BED_H_ */
