/* SPDX-License-Identifier: GPL-2.0 */
/* A call of an object whose class has a __call__ in Python: the object's address leads to its slot.
 * No thread waits for the daemon here. The probe sits where rdi is still the object
 * (Objects/typeobject.c, slot_tp_call).
 */
#ifndef SBUMP_BPF_MODULE_ENTRY_BPF_H_
#define SBUMP_BPF_MODULE_ENTRY_BPF_H_

#include "bpf/count.bpf.h"
#include "bpf/image.bpf.h"
#include "bpf/own_stack.bpf.h"
#include "bpf/session.bpf.h"
#include "bpf/shared/module_entry.h"
#include "bpf/thread_state.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, SB_KNOWN_MODULES);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u64); /* address of the object */
  __type(value, struct sb_module);
} modules SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, SB_MODULE_TYPES);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u64); /* address of a type */
  __type(value, __u8);
} module_types SEC(".maps");

/* Calls of objects that the daemon does not know, though it knows their type. */
__u64 unknown_modules = 0;

/* Returns the module where its calls are to be followed, else 0; and what was injected. */
static __always_inline __u64 count_module(struct pt_regs* ctx, __u64* injected_ns) {
  __u64 now_ns = bpf_ktime_get_ns();
  __u64 object = ctx->rdi;
  struct sb_module* module;
  __u64 type;
  __u32 follows;

  if (is_off()) return 0;
  if (!read_user(&type, sizeof(type), object + OB_TYPE_OFFSET + config.head_shift)) {
    skip(SB_SKIP_UNREADABLE);
    return 0;
  }
  module = bpf_map_lookup_elem(&modules, &object);
  if (!module) {
    if (bpf_map_lookup_elem(&module_types, &type)) __sync_fetch_and_add(&unknown_modules, 1);
    return 0;
  }
  if (module->type != type) {
    bpf_map_delete_elem(&modules, &object);
    skip(SB_SKIP_MODULE_GONE);
    return 0;
  }
  follows = module->flags & SB_MODULE_FOLLOWED;
  if (module->slot != SB_NO_SLOT)
    *injected_ns = count_and_delay(ctx, module->slot, module->trap_cost_ns, now_ns);
  return follows ? object : 0;
}

SEC("uprobe.s")
int sb_module_hit(struct pt_regs* ctx) {
  __u64 injected_ns;

  run_on_own_stack(ctx);
  count_module(ctx, &injected_ns);
  return 0;
}

/* As sb_native_hit_multi. */
SEC("uprobe.s")
int sb_module_hit_multi(struct pt_regs* ctx) {
  __u64 injected_ns;

  run_on_own_stack(ctx);
  count_module(ctx, &injected_ns);
  return 0;
}

#endif /* SBUMP_BPF_MODULE_ENTRY_BPF_H_ */
