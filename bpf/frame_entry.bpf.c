// SPDX-License-Identifier: GPL-2.0
/* The programs of one session: count and delay at the probe site, introduce code objects to the
 * daemon, forget dead ones. They never write target memory. The object is loaded once per session;
 * `config` is frozen before that.
 */
#include "bpf/count.bpf.h"
#include "bpf/hold.bpf.h"
#include "bpf/image.bpf.h"
#include "bpf/kernel.h"
#include "bpf/module_entry.bpf.h"
#include "bpf/native_entry.bpf.h"
#include "bpf/operator.bpf.h"
#include "bpf/own_stack.bpf.h"
#include "bpf/session.bpf.h"
#include "bpf/shared/event.h"
#include "bpf/shared/verdict.h"
#include "bpf/span.bpf.h"
#include "bpf/thread_state.bpf.h"
#include "bpf/wanted.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Entries of `pending` so far: to look through the whole map for none is 0.1 ms of the daemon. */
__u64 pending_added = 0;
__u64 dismissed = 0; /* code objects that cannot match: the daemon was not asked */

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 131072);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u64); /* address of a PyCodeObject */
  __type(value, struct sb_verdict);
} verdicts SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u64); /* address of a PyCodeObject */
  __type(value, struct sb_pending);
} pending SEC(".maps");

/* The code object that a thread is introducing: from the entry of the function to its return. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __type(key, __u32); /* tid */
  __type(value, __u64);
} introducing SEC(".maps");

/* ---- The hit ---- */

/* Not every pass through the site is the start of a call: a generator passes on each resumption,
 * and one that is closed or thrown into before it started passes with the exception already set.
 * That one runs nothing, and is no entry either (config.on_resume).
 */
static __always_inline bool starts_call_opcache_flag(__u32 flags) {
  __u64 thread, frame, exception;
  __s32 lasti;

  if (!(flags & SB_VERDICT_GENERATOR)) return true;
  if (!read_user(&thread, sizeof(thread), control.current_thread_addr) ||
      !read_user(&exception, sizeof(exception), thread + config.thread_exception) ||
      !read_user(&frame, sizeof(frame), thread + config.thread_frame) ||
      !read_user(&lasti, sizeof(lasti), frame + config.frame_lasti)) {
    skip(SB_SKIP_UNREADABLE);
    return true;
  }
  if (lasti != -1) return config.on_resume;
  return exception == 0;
}

#define FLAGS_ZF (1ul << 6)

/* 3.12 on: the compare before the site found code and interpreter at different instrumentation
 * versions. The unit is then dispatched again and passes here a second time; except, on 3.13,
 * inside a trace function.
 */
static __always_inline bool passes_again(struct pt_regs* ctx) {
  __s32 tracing = 0;

  if (config.arming != SB_ARMING_INSTRUMENTED_RESUME || config.passed_once) return false;
  if (ctx->eflags & FLAGS_ZF) return false;
  if (config.thread_register == 0xff) return true;
  read_user(&tracing, sizeof(tracing),
            read_register(ctx, config.thread_register) + config.thread_tracing);
  return tracing == 0;
}

/* Of a code object without a verdict: whether this is the start of a call. */
static __always_inline bool is_call(__u64 code, __u64 unit) {
  __s32 firsttraceable;

  if (config.arming == SB_ARMING_OPCACHE_FLAG)
    return starts_call_opcache_flag(SB_VERDICT_GENERATOR);
  if (config.on_resume) return true;
  if (!read_user(&firsttraceable, sizeof(firsttraceable), code + config.co_firsttraceable))
    return true;
  return unit == code + config.co_code_adaptive + 2 * (__s64)firsttraceable;
}

/* The daemon was asked about it and has not answered: it looks at what is pending by itself. */
static __always_inline bool is_pending(__u64 code, __u32 fingerprint) {
  struct sb_pending* known = bpf_map_lookup_elem(&pending, &code);

  return known && known->fingerprint == fingerprint;
}

/* Counted by address: nobody has said yet whether this code object matches. */
static __always_inline void count_pending(__u64 code, __u32 fingerprint) {
  struct sb_pending fresh = {.calls = 1, .fingerprint = fingerprint};
  struct sb_pending* known = bpf_map_lookup_elem(&pending, &code);

  if (known && known->fingerprint == fingerprint) {
    __sync_fetch_and_add(&known->calls, 1);
    return;
  }
  if (bpf_map_update_elem(&pending, &code, &fresh, BPF_NOEXIST) == 0) {
    __sync_fetch_and_add(&pending_added, 1);
    return;
  }
  known = bpf_map_lookup_elem(&pending, &code);
  if (known && known->fingerprint == fingerprint)
    __sync_fetch_and_add(&known->calls, 1);
  else
    skip(SB_SKIP_PENDING_FULL);
}

/* The verdict of `code` if it is still about the same object. */
static __always_inline struct sb_verdict* find_verdict(__u64 code, __u32 fingerprint) {
  struct sb_verdict* verdict = bpf_map_lookup_elem(&verdicts, &code);

  if (verdict && verdict->fingerprint != fingerprint) {
    bpf_map_delete_elem(&verdicts, &code);
    skip(SB_SKIP_ADDRESS_REUSED);
    return NULL;
  }
  return verdict;
}

/* The self-check of the site: what is taken for a code object must be one. */
static __always_inline bool is_code(__u64 object) {
  __u64 type;

  if (!read_user(&type, sizeof(type), object + OB_TYPE_OFFSET + config.head_shift)) {
    skip(SB_SKIP_UNREADABLE);
    return false;
  }
  if (type != control.code_type_addr) skip(SB_SKIP_NOT_CODE);
  return type == control.code_type_addr;
}

/* Asks the daemon about a code object that is in no map. Afterwards it is in the map if there was
 * an answer. */
static __always_inline void introduce(struct pt_regs* ctx, __u64 code, __u32 fingerprint) {
  struct sb_verdict dismissal = {
      .fingerprint = fingerprint,
      .slot = SB_NO_SLOT,
      .flags = SB_VERDICT_DISMISSED,
  };

  if (!is_code(code)) return;
  if (can_match(code) ||
      bpf_map_update_elem(&verdicts, &code, &dismissal, BPF_NOEXIST) == -7 /* E2BIG */)
    tell_and_hold(ctx, SB_EVENT_FIRST_SIGHT, code, fingerprint);
  else
    __sync_fetch_and_add(&dismissed, 1);
}

/* OPCACHE_FLAG: cold matching code is armed when its counter has just reached the limit, so that
 * this very frame still gets its opcache (facts: a counter of INT_MIN goes through the site 2^31
 * times).
 */
static __always_inline bool ready_to_arm(__u64 code) {
  __s32 flag;

  return read_user(&flag, sizeof(flag), code + config.co_opcache_flag) &&
         flag == (__s32)control.opcache_limit;
}

/* The code object of the frame that is being entered; 0 where it cannot be read. */
static __always_inline __u64 code_at_site(struct pt_regs* ctx) {
  __u64 executable;

  if (config.code_register != 0xff) return read_register(ctx, config.code_register);
  if (!read_user(&executable, sizeof(executable),
                 read_register(ctx, config.frame_register) + config.frame_code))
    return 0;
  return executable & ~1ull; /* 3.14 on: a _PyStackRef, tagged in its low bit */
}

SEC("uprobe.s")
int sb_hit(struct pt_regs* ctx) {
  __u64 now_ns = bpf_ktime_get_ns();
  __u64 code = code_at_site(ctx);
  __u64 unit = 0;
  struct sb_verdict* verdict;
  __u32 fingerprint, slot, flags;

  run_on_own_stack(ctx);
  if (is_off() || passes_again(ctx)) return 0;
  if (!read_fingerprint(code, &fingerprint)) {
    skip(SB_SKIP_UNREADABLE);
    return 0;
  }
  if (config.arming != SB_ARMING_OPCACHE_FLAG) unit = read_register(ctx, config.unit_register);
  verdict = find_verdict(code, fingerprint);
  if (!verdict) {
    if (!is_pending(code, fingerprint)) introduce(ctx, code, fingerprint);
    verdict = find_verdict(code, fingerprint);
    if (!verdict) {
      if (is_call(code, unit)) count_pending(code, fingerprint);
      return 0;
    }
  }
  slot = verdict->slot;
  flags = verdict->flags;
  if (slot == SB_NO_SLOT) return 0;
  if (config.arming == SB_ARMING_OPCACHE_FLAG) {
    /* A generator's resumption counts towards its counter as a call does. */
    if (ready_to_arm(code)) tell_and_hold(ctx, SB_EVENT_ARM, code, fingerprint);
    if (!starts_call_opcache_flag(flags)) return 0;
  } else if (unit != verdict->unit_addr && !config.on_resume) {
    return 0;
  }
  count_and_delay(ctx, slot, (__u32)config.trap_cost_ns, now_ns);
  return 0;
}

/* ---- Calibration: the daemon probes a function of its own to learn what a hit costs beside the
 * program's own time ---- */

SEC("uprobe.s")
int sb_calibrate(struct pt_regs* ctx) {
  run_on_own_stack(ctx);
  count_and_delay(ctx, 0, 0, bpf_ktime_get_ns());
  return 0;
}

/* ---- Introduction: every code object passes here once before it can be armed (3.11 on) ---- */

static __always_inline bool is_armed(__u64 unit_addr) {
  __u8 opcode;

  return config.arming == SB_ARMING_INSTRUMENTED_RESUME &&
         read_user(&opcode, sizeof(opcode), unit_addr) && opcode == config.instrumented_opcode;
}

/* It has more units than the one that the verdict names, and each may have lost its own. */
static __always_inline bool is_resumed(__u32 flags) {
  return config.on_resume && (flags & SB_VERDICT_GENERATOR);
}

static __always_inline void introduce_or_arm(struct pt_regs* ctx, __u64 code) {
  struct sb_verdict* verdict;
  __u32 fingerprint;

  if (!read_fingerprint(code, &fingerprint)) {
    skip(SB_SKIP_UNREADABLE);
    return;
  }
  verdict = find_verdict(code, fingerprint);
  if (!verdict)
    introduce(ctx, code, fingerprint);
  else if (verdict->slot != SB_NO_SLOT &&
           (is_resumed(verdict->flags) || !is_armed(verdict->unit_addr)))
    tell_and_hold(ctx, SB_EVENT_ARM, code, fingerprint);
}

SEC("uprobe.s")
int sb_introduce_entry(struct pt_regs* ctx) {
  __u32 tid = (__u32)bpf_get_current_pid_tgid();
  __u64 code = ctx->rdi;

  run_on_own_stack(ctx);
  if (is_off()) return 0;
  /* At the return other threads could be in the middle of it already. */
  if (config.holds_at_entry) introduce_or_arm(ctx, code);
  if (bpf_map_update_elem(&introducing, &tid, &code, BPF_ANY) != 0) skip(SB_SKIP_INTRODUCTION_LOST);
  return 0;
}

SEC("uretprobe.s")
int sb_introduce_return(struct pt_regs* ctx) {
  __u32 tid = (__u32)bpf_get_current_pid_tgid();
  __u64* found = bpf_map_lookup_elem(&introducing, &tid);
  __u64 code;

  run_on_own_stack(ctx);
  if (!found) return 0;
  code = *found;
  bpf_map_delete_elem(&introducing, &tid);
  if (!is_off()) introduce_or_arm(ctx, code);
  return 0;
}

/* ---- A new interpreter (3.12 on): code that is born in it would not introduce itself ---- */

SEC("uretprobe.s")
int sb_interpreter_made(struct pt_regs* ctx) {
  run_on_own_stack(ctx);
  if (!is_off()) tell_and_hold(ctx, SB_EVENT_NEW_INTERPRETER, 0, 0);
  return 0;
}

/* ---- Death ---- */

SEC("uprobe.s")
int sb_dealloc(struct pt_regs* ctx) {
  __u64 code = ctx->rdi;
  struct sb_verdict* verdict = bpf_map_lookup_elem(&verdicts, &code);
  __u32 fingerprint;
  bool is_known;

  run_on_own_stack(ctx);
  if (!verdict || is_other_image()) return 0;
  is_known = !(verdict->flags & SB_VERDICT_DISMISSED);
  fingerprint = verdict->fingerprint;
  if (bpf_map_delete_elem(&verdicts, &code) == 0 && is_known)
    tell(SB_EVENT_DEAD, code, fingerprint, 0, SB_NOT_HELD);
  return 0;
}
