/* SPDX-License-Identifier: GPL-2.0 */
/* A call of a native function: the probed instruction's address leads to its slot. No thread waits
 * for the daemon here.
 */
#ifndef SBUMP_BPF_NATIVE_ENTRY_BPF_H_
#define SBUMP_BPF_NATIVE_ENTRY_BPF_H_

#include "bpf/count.bpf.h"
#include "bpf/image.bpf.h"
#include "bpf/own_stack.bpf.h"
#include "bpf/session.bpf.h"
#include "bpf/shared/native_site.h"

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  /* Twice: while a library moves, both of its places are known. */
  __uint(max_entries, 2 * SB_NATIVE_SITES);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u64); /* address of the probed instruction */
  __type(value, struct sb_native_site);
} native_sites SEC(".maps");

static __always_inline void count_native(struct pt_regs* ctx) {
  __u64 now_ns = bpf_ktime_get_ns();
  __u64 address = ctx->rip;
  struct sb_native_site* site;

  if (is_off()) return;
  site = bpf_map_lookup_elem(&native_sites, &address);
  if (site)
    count_and_delay(ctx, site->slot, site->trap_cost_ns, now_ns);
  else
    skip(SB_SKIP_UNKNOWN_SITE);
}

SEC("uprobe.s")
int sb_native_hit(struct pt_regs* ctx) {
  run_on_own_stack(ctx);
  count_native(ctx);
  return 0;
}

/* The same for the kernel's other kind of link, which a program declares before it is loaded. */
SEC("uprobe.s")
int sb_native_hit_multi(struct pt_regs* ctx) {
  run_on_own_stack(ctx);
  count_native(ctx);
  return 0;
}

#endif /* SBUMP_BPF_NATIVE_ENTRY_BPF_H_ */
