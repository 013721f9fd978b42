/* SPDX-License-Identifier: GPL-2.0 */
/* Keeps a program's variables on the stack of the thread that runs it.
 *
 * From 6.13 on the kernel gives a program of type kprobe, which a uprobe's is, a stack per CPU for
 * each of its functions that needs 64 bytes or more (a76ab5731e32 and bpf_enable_priv_stack() in
 * kernel/bpf/verifier.c). But a uprobe's program sleeps, and meanwhile another thread may run it on
 * that CPU: both have their variables, and pointers that nobody checks again, in the same place.
 * A program with a tail call anywhere is left as it was before: on the thread's stack.
 */
#ifndef SBUMP_BPF_OWN_STACK_BPF_H_
#define SBUMP_BPF_OWN_STACK_BPF_H_

#include "bpf/count.bpf.h"

/* Never called: `config` is constant, and the verifier takes the branch out, map and all. What it
 * finds in the instructions before that counts.
 */
static __always_inline void run_on_own_stack(void* ctx) {
  if (config.never) bpf_tail_call(ctx, &threads, 0);
}

#endif /* SBUMP_BPF_OWN_STACK_BPF_H_ */
