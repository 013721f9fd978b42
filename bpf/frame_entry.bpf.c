// SPDX-License-Identifier: GPL-2.0
/* The programs of one session: count and delay at the probe site, introduce code objects to the
 * daemon, forget dead ones. They never write target memory. The object is loaded once per session;
 * `config` is frozen before that.
 */
#include "bpf/kernel.h"
#include "bpf/shared/config.h"
#include "bpf/shared/event.h"
#include "bpf/shared/slot.h"
#include "bpf/shared/text.h"
#include "bpf/shared/verdict.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct sb_config config = {};

struct sb_control control = {};
struct sb_hold holds[SB_HOLDS] = {};
__u64 skipped[SB_SKIP_REASONS] = {};
__u64 next_sequence = 0;
/* Holds in a row that ended without an answer; the daemon sets it to 0 whenever it listens. */
__u32 unanswered_holds = 0;
__u64 dismissed = 0; /* code objects that cannot match: the daemon was not asked */

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 131072);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u64); /* address of a PyCodeObject */
  __type(value, struct sb_verdict);
} verdicts SEC(".maps");

/* The slots, in chunks that the daemon adds as targets appear: a session costs the memory that it
 * needs. */
struct slot_chunk {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, SB_SLOTS_PER_CHUNK);
  /* by size: clang 14 leaves a type that stands only in an inner map incomplete in BTF */
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(struct sb_slot));
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, SB_SLOT_CHUNKS);
  __type(key, __u32);
  __array(values, struct slot_chunk);
} slot_chunks SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u64); /* address of a PyCodeObject */
  __type(value, struct sb_pending);
} pending SEC(".maps");

struct sb_thread_key {
  __u32 slot;
  __u32 tid;
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct sb_thread_key);
  __type(value, __u8);
} threads SEC(".maps");

/* The code object that a thread is introducing: from the entry of the function to its return. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u32); /* tid */
  __type(value, __u64);
} introducing SEC(".maps");

/* Files (sb_text_hash of co_filename) that no pattern takes under any name. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u64);
  __type(value, __u8);
} unwanted_files SEC(".maps");

/* With control.filters_names: the only names (sb_text_hash) that some pattern takes. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 131072);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u64);
  __type(value, __u8);
} wanted_names SEC(".maps");

/* A process that ends frees all its code objects within some milliseconds. */
#define EVENT_BYTES (1024 * 1024)

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, EVENT_BYTES);
} events SEC(".maps");

static __always_inline void skip(enum sb_skip reason) { __sync_fetch_and_add(&skipped[reason], 1); }

/* The verifier wants each context field at a constant offset; in C the compiler would merge the
 * loads into one at a computed address.
 */
#define LOAD_FIELD(ctx, field)                                      \
  ({                                                                \
    __u64 value;                                                    \
    asm volatile("%0 = *(u64 *)(%1 + %2)"                           \
                 : "=r"(value)                                      \
                 : "r"(ctx), "i"(offsetof(struct pt_regs, field))); \
    value;                                                          \
  })

static __always_inline __u64 read_register(struct pt_regs* ctx, __u8 number) {
  switch (number) {
    case 0:
      return LOAD_FIELD(ctx, rax);
    case 1:
      return LOAD_FIELD(ctx, rcx);
    case 2:
      return LOAD_FIELD(ctx, rdx);
    case 3:
      return LOAD_FIELD(ctx, rbx);
    case 4:
      return LOAD_FIELD(ctx, rsp);
    case 5:
      return LOAD_FIELD(ctx, rbp);
    case 6:
      return LOAD_FIELD(ctx, rsi);
    case 7:
      return LOAD_FIELD(ctx, rdi);
    case 8:
      return LOAD_FIELD(ctx, r8);
    case 9:
      return LOAD_FIELD(ctx, r9);
    case 10:
      return LOAD_FIELD(ctx, r10);
    case 11:
      return LOAD_FIELD(ctx, r11);
    case 12:
      return LOAD_FIELD(ctx, r12);
    case 13:
      return LOAD_FIELD(ctx, r13);
    case 14:
      return LOAD_FIELD(ctx, r14);
    case 15:
      return LOAD_FIELD(ctx, r15);
  }
  return 0;
}

static __always_inline bool read_user(void* to, __u32 size, __u64 addr) {
  return bpf_probe_read_user(to, size, (const void*)addr) == 0;
}

static __always_inline bool read_fingerprint(__u64 code, __u32* fingerprint) {
  __u64 words[SB_FINGERPRINT_BYTES / 8];

  if (!read_user(words, sizeof(words), code + config.fingerprint)) return false;
  *fingerprint = sb_fingerprint(words);
  return true;
}

/* ---- Waiting ---- */

#define SIGKILL_BIT (1ul << 8)
/* JOBCTL_STOP_PENDING, JOBCTL_TRAP_STOP, JOBCTL_TRAP_NOTIFY, JOBCTL_TRAP_FREEZE:
 * include/linux/sched/jobctl.h */
#define JOBCTL_WANTS_STOP ((1ul << 17) | (1ul << 19) | (1ul << 20) | (1ul << 23))

static __always_inline bool task_must_go(void) {
  struct task_struct* task = (struct task_struct*)bpf_get_current_task_btf();
  unsigned long deadly = task->pending.signal.sig[0] | task->signal->shared_pending.signal.sig[0];

  return (deadly & SIGKILL_BIT) || (task->jobctl & JOBCTL_WANTS_STOP);
}

/* Under preempt=none a BPF loop lets nobody else run on its CPU; get_user_pages() holds a
 * cond_resched(). The page at the instruction pointer was just executed from, or, at a return
 * probe, is about to be.
 */
static __always_inline void let_others_run(__u64 ip) {
  __u64 unused;

  bpf_copy_from_user_task(&unused, sizeof(unused), (const void*)(ip & ~4095ull),
                          bpf_get_current_task_btf(), 0);
}

struct spin {
  __u64 deadline_ns;
  __u64 reschedule_ns;
  __u64 ip;
  __u64 now_ns;
  bool aborted;
};

#define RESCHEDULE_EVERY_NS 1000000

static long spin_once(__u32 i, struct spin* spin) {
  spin->now_ns = bpf_ktime_get_ns();
  if (spin->now_ns >= spin->deadline_ns) return 1;
  if (*(volatile __u32*)&control.abort) {
    spin->aborted = true;
    return 1;
  }
  if ((i & 255) == 255 && task_must_go()) {
    spin->aborted = true;
    return 1;
  }
  if (spin->now_ns >= spin->reschedule_ns) {
    spin->reschedule_ns = spin->now_ns + RESCHEDULE_EVERY_NS;
    let_others_run(spin->ip);
  }
  return 0;
}

/* Burns CPU until `deadline_ns`, at most 2^23 turns (0.2 s); returns the time at which it stopped.
 */
static __always_inline __u64 spin_until(__u64 now_ns, __u64 deadline_ns, __u64 ip) {
  struct spin spin = {
      .deadline_ns = deadline_ns,
      .reschedule_ns = now_ns + RESCHEDULE_EVERY_NS,
      .ip = ip,
      .now_ns = now_ns,
  };

  bpf_loop(1 << 23, spin_once, &spin, 0);
  if (spin.aborted) skip(SB_SKIP_ABORTED_DELAY);
  return spin.now_ns;
}

/* ---- Telling the daemon, and holding the thread until it answers ---- */

static __always_inline bool tell(enum sb_event_kind kind, __u64 code, __u32 fingerprint,
                                 __u64 sequence, __u32 hold) {
  struct sb_event* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

  if (!event) {
    skip(kind == SB_EVENT_DEAD ? SB_SKIP_DEATH_UNTOLD : SB_SKIP_RING_FULL);
    return false;
  }
  event->code_addr = code;
  event->sequence = sequence;
  event->at_ns = bpf_ktime_get_ns();
  event->kind = kind;
  event->hold = hold;
  event->fingerprint = fingerprint;
  event->pad = 0;
  if (hold != SB_NOT_HELD)
    bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
  else /* the daemon looks now and then */
    bpf_ringbuf_submit(event, bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < EVENT_BYTES / 2
                                  ? BPF_RB_NO_WAKEUP
                                  : 0);
  return true;
}

struct wait {
  __u64 sequence;
  __u64 deadline_ns;
  __u64 ip;
  __u32 hold;
  bool answered;
  bool claimed;
};

static long wait_once(__u32 i, struct wait* wait) {
  struct sb_hold* hold = &holds[wait->hold & (SB_HOLDS - 1)];

  if (*(volatile __u64*)&hold->answered == wait->sequence) {
    wait->answered = true;
    return 1;
  }
  if (bpf_ktime_get_ns() >= wait->deadline_ns) return 1;
  if (!wait->claimed && *(volatile __u32*)&control.abort) return 1;
  if ((i & 127) == 127) {
    if (!wait->claimed && task_must_go()) return 1;
    let_others_run(wait->ip);
  }
  return 0;
}

static __always_inline void leave(__u32 hold) {
  *(volatile __u64*)&holds[hold & (SB_HOLDS - 1)].owner = 0;
}

static __always_inline void go_on_unanswered(void) {
  skip(SB_SKIP_HOLD_TIMEOUT);
  __sync_fetch_and_add(&unanswered_holds, 1);
}

/* Fails open: whatever goes wrong, the thread goes on, at the latest after config.hold_limit_ns, or
 * SB_CLAIM_LIMIT_NS after that where the daemon had begun to answer. */
static __always_inline void tell_and_hold(struct pt_regs* ctx, enum sb_event_kind kind, __u64 code,
                                          __u32 fingerprint) {
  __u64 sequence = __sync_fetch_and_add(&next_sequence, 1) + 1;
  struct wait wait = {
      .sequence = sequence,
      .deadline_ns = bpf_ktime_get_ns() + config.hold_limit_ns,
      .ip = ctx->rip,
      .hold = SB_NOT_HELD,
  };
  __u32 i;

  /* A daemon that is stopped or starved must not cost every new code object the whole limit. */
  if (unanswered_holds >= SB_MOST_UNANSWERED_HOLDS) {
    skip(SB_SKIP_HOLD_TIMEOUT);
    tell(kind, code, fingerprint, sequence, SB_NOT_HELD);
    return;
  }
  for (i = 0; i < SB_HOLDS; i++) {
    if (__sync_val_compare_and_swap(&holds[i].owner, 0, sequence) == 0) {
      wait.hold = i;
      break;
    }
  }
  if (wait.hold == SB_NOT_HELD) {
    skip(SB_SKIP_HOLDS_BUSY);
    tell(kind, code, fingerprint, sequence, SB_NOT_HELD);
    return;
  }
  if (!tell(kind, code, fingerprint, sequence, wait.hold)) {
    leave(wait.hold);
    return;
  }
  bpf_loop(1 << 23, wait_once, &wait, 0);
  if (!wait.answered && __sync_val_compare_and_swap(&holds[wait.hold & (SB_HOLDS - 1)].owner,
                                                    sequence, 0) == sequence) {
    go_on_unanswered();
    return;
  }
  if (!wait.answered) {
    wait.claimed = true;
    wait.deadline_ns = bpf_ktime_get_ns() + SB_CLAIM_LIMIT_NS;
    bpf_loop(1 << 23, wait_once, &wait, 0);
    if (!wait.answered) go_on_unanswered();
  }
  leave(wait.hold);
}

/* ---- The hit ---- */

/* Not every pass through the site is the start of a call: a generator passes on each resumption,
 * and one that is closed or thrown into before it started passes with the exception already set.
 */
static __always_inline bool starts_call_opcache_flag(__u32 flags) {
  __u64 thread, frame, exception;
  __s32 lasti;

  if (!(flags & SB_VERDICT_GENERATOR)) return true;
  if (!read_user(&thread, sizeof(thread), config.current_thread_addr) ||
      !read_user(&exception, sizeof(exception), thread + config.thread_exception) ||
      !read_user(&frame, sizeof(frame), thread + config.thread_frame) ||
      !read_user(&lasti, sizeof(lasti), frame + config.frame_lasti)) {
    skip(SB_SKIP_UNREADABLE);
    return true;
  }
  return lasti == -1 && exception == 0;
}

#define FLAGS_ZF (1ul << 6)

/* 3.12 on: the compare before the site found code and interpreter at different instrumentation
 * versions. The unit is then dispatched again and passes here a second time; except, on 3.13,
 * inside a trace function.
 */
static __always_inline bool passes_again(struct pt_regs* ctx) {
  __s32 tracing = 0;

  if (config.arming != SB_ARMING_INSTRUMENTED_RESUME || (ctx->eflags & FLAGS_ZF)) return false;
  if (config.thread_register == 0xff) return true;
  read_user(&tracing, sizeof(tracing),
            read_register(ctx, config.thread_register) + config.thread_tracing);
  return tracing == 0;
}

static __always_inline void note_thread(struct sb_slot* slot, __u32 index) {
  struct sb_thread_key key = {.slot = index, .tid = (__u32)bpf_get_current_pid_tgid()};
  __u8 one = 1;
  long error;

  if (slot->last_thread == key.tid) return;
  slot->last_thread = key.tid;
  error = bpf_map_update_elem(&threads, &key, &one, BPF_NOEXIST);
  if (error == 0)
    __sync_fetch_and_add(&slot->threads_seen, 1);
  else if (error == -7 /* E2BIG */)
    skip(SB_SKIP_THREADS_FULL);
}

static __always_inline void delay(struct pt_regs* ctx, struct sb_slot* slot, __u64 call,
                                  __u64 now_ns) {
  __u64 delay_ns = slot->delay_ns;
  __u64 every = slot->every;
  __u64 own_ns, injected_ns;

  if (delay_ns == 0 || now_ns < control.delay_from_ns || now_ns >= control.delay_until_ns) return;
  if (every > 1 && call % every != 0) return;
  own_ns = delay_ns > config.trap_cost_ns ? delay_ns - config.trap_cost_ns : 0;
  injected_ns = spin_until(now_ns, now_ns + own_ns, ctx->rip) - now_ns + config.trap_cost_ns;
  __sync_fetch_and_add(&slot->delayed_calls, 1);
  __sync_fetch_and_add(&slot->requested_delay_ns, delay_ns);
  __sync_fetch_and_add(&slot->injected_delay_ns, injected_ns);
  __sync_fetch_and_add(
      &slot->overshoot[sb_overshoot_bucket(injected_ns > delay_ns ? injected_ns - delay_ns : 0) &
                       (SB_OVERSHOOT_BUCKETS - 1)],
      1);
}

static __always_inline struct sb_slot* find_slot(__u32 index) {
  __u32 chunk = index / SB_SLOTS_PER_CHUNK;
  __u32 within = index % SB_SLOTS_PER_CHUNK;
  void* slots = bpf_map_lookup_elem(&slot_chunks, &chunk);

  return slots ? bpf_map_lookup_elem(slots, &within) : NULL;
}

static __always_inline void count_and_delay(struct pt_regs* ctx, __u32 index, __u64 now_ns) {
  struct sb_slot* slot = find_slot(index);
  __u64 call;

  if (!slot) return;
  call = __sync_fetch_and_add(&slot->calls, 1) + 1;
  if (slot->first_hit_ns == 0) __sync_val_compare_and_swap(&slot->first_hit_ns, 0, now_ns);
  slot->last_hit_ns = now_ns;
  note_thread(slot, index);
  delay(ctx, slot, call, now_ns);
}

/* Of a code object without a verdict: whether this is the start of a call. */
static __always_inline bool is_call(__u64 code, __u64 unit) {
  __s32 firsttraceable;

  if (config.arming == SB_ARMING_OPCACHE_FLAG)
    return starts_call_opcache_flag(SB_VERDICT_GENERATOR);
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
  if (bpf_map_update_elem(&pending, &code, &fresh, BPF_NOEXIST) == 0) return;
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

/* ---- What cannot match: most code is none of the session's business, and need not wait for the
 * daemon to say so ---- */

struct text {
  __u64 words[SB_TEXT_WORDS];
  __u64 length;
};

/* PyASCIIObject: length, hash, state; the bits of `state`: Include/cpython/unicodeobject.h. */
struct str_head {
  __u64 length;
  __u64 hash;
  __u32 state;
  __u32 pad;
};
#define OB_TYPE_OFFSET 8
#define STR_HEAD_OFFSET 16
#define STR_COMPACT_ASCII ((1u << 5) | (1u << 6))

/* The hash of the str that the pointer at `field` points to; 0 where the daemon has to read it. */
static __noinline __u64 hash_of_str_at(__u64 field) {
  struct str_head head;
  struct text text = {};
  __u64 str, length;

  if (!read_user(&str, sizeof(str), field) ||
      !read_user(&head, sizeof(head), str + STR_HEAD_OFFSET) ||
      (head.state & STR_COMPACT_ASCII) != STR_COMPACT_ASCII)
    return 0;
  length = head.length;
  if (length == 0 || length > SB_TEXT_BYTES) return 0;
  if (!read_user(text.words, length, str + config.ascii_data)) return 0;
  return sb_text_hash(text.words, length);
}

/* A module's own code runs once, and tells under which name its file is imported. */
static __always_inline bool can_match(__u64 code) {
  __u64 name = hash_of_str_at(code + config.code_name);
  __u64 file;

  if (name == 0 || (name == config.module_code_name && control.asks_modules)) return true;
  if (control.filters_names && !bpf_map_lookup_elem(&wanted_names, &name)) return false;
  file = hash_of_str_at(code + config.co_filename);
  return file == 0 || !bpf_map_lookup_elem(&unwanted_files, &file);
}

/* The self-check of the site: what is taken for a code object must be one. */
static __always_inline bool is_code(__u64 object) {
  __u64 type;

  if (!read_user(&type, sizeof(type), object + OB_TYPE_OFFSET)) {
    skip(SB_SKIP_UNREADABLE);
    return false;
  }
  if (type != config.code_type_addr) skip(SB_SKIP_NOT_CODE);
  return type == config.code_type_addr;
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

SEC("uprobe.s")
int sb_hit(struct pt_regs* ctx) {
  __u64 now_ns = bpf_ktime_get_ns();
  __u64 code = read_register(ctx, config.code_register);
  __u64 unit = 0;
  struct sb_verdict* verdict;
  __u32 fingerprint, slot, flags;

  if (control.abort || passes_again(ctx)) return 0;
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
  } else if (unit != verdict->unit_addr) {
    return 0;
  }
  count_and_delay(ctx, slot, now_ns);
  return 0;
}

/* ---- Calibration: the daemon probes a function of its own to learn what a hit costs beside the
 * program's own time ---- */

SEC("uprobe.s")
int sb_calibrate(struct pt_regs* ctx) {
  count_and_delay(ctx, 0, bpf_ktime_get_ns());
  return 0;
}

/* ---- Introduction: every code object passes here once before it can be armed (3.11 on) ---- */

SEC("uprobe")
int sb_introduce_entry(struct pt_regs* ctx) {
  __u32 tid = (__u32)bpf_get_current_pid_tgid();
  __u64 code = ctx->rdi;

  if (!control.abort) bpf_map_update_elem(&introducing, &tid, &code, BPF_ANY);
  return 0;
}

static __always_inline bool is_armed(__u64 unit_addr) {
  __u8 opcode;

  return config.arming == SB_ARMING_INSTRUMENTED_RESUME &&
         read_user(&opcode, sizeof(opcode), unit_addr) && opcode == config.instrumented_opcode;
}

SEC("uretprobe.s")
int sb_introduce_return(struct pt_regs* ctx) {
  __u32 tid = (__u32)bpf_get_current_pid_tgid();
  __u64* found = bpf_map_lookup_elem(&introducing, &tid);
  struct sb_verdict* verdict;
  __u32 fingerprint;
  __u64 code;

  if (!found) return 0;
  code = *found;
  bpf_map_delete_elem(&introducing, &tid);
  if (control.abort) return 0;
  if (!read_fingerprint(code, &fingerprint)) {
    skip(SB_SKIP_UNREADABLE);
    return 0;
  }
  verdict = find_verdict(code, fingerprint);
  if (!verdict)
    introduce(ctx, code, fingerprint);
  else if (verdict->slot != SB_NO_SLOT && !is_armed(verdict->unit_addr))
    tell_and_hold(ctx, SB_EVENT_ARM, code, fingerprint);
  return 0;
}

/* ---- Death ---- */

SEC("uprobe")
int sb_dealloc(struct pt_regs* ctx) {
  __u64 code = ctx->rdi;
  struct sb_verdict* verdict = bpf_map_lookup_elem(&verdicts, &code);
  __u32 fingerprint;
  bool is_known;

  if (!verdict) return 0;
  is_known = !(verdict->flags & SB_VERDICT_DISMISSED);
  fingerprint = verdict->fingerprint;
  if (bpf_map_delete_elem(&verdicts, &code) == 0 && is_known)
    tell(SB_EVENT_DEAD, code, fingerprint, 0, SB_NOT_HELD);
  return 0;
}
