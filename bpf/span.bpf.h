/* SPDX-License-Identifier: GPL-2.0 */
/* Calls of modules from begin to end. The probe of module_entry.bpf.h sees the begin; the end is
 * seen where the function has its result and has not left yet (daemon/text/return_sites.h).
 */
#ifndef SBUMP_BPF_SPAN_BPF_H_
#define SBUMP_BPF_SPAN_BPF_H_

#include "bpf/image.bpf.h"
#include "bpf/module_entry.bpf.h"
#include "bpf/open_call.bpf.h"
#include "bpf/own_stack.bpf.h"
#include "bpf/session.bpf.h"
#include "bpf/shared/span.h"
#include "bpf/span_thread.bpf.h"
#include "bpf/tensor.bpf.h"
#include "bpf/thread_state.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 64);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u64); /* address of the probed instruction */
  __type(value, struct sb_span_site);
} span_sites SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, SB_VALUE_TYPES);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u64); /* address of a type */
  __type(value, __u8);
} value_types SEC(".maps");

/* Include/object.h, Include/cpython/object.h, Include/cpython/listobject.h; the same from 3.8 on.
 */
#define OB_SIZE 16
#define TP_FLAGS 168
#define FLAG_LIST_SUBCLASS (1ul << 25)
#define FLAG_TUPLE_SUBCLASS (1ul << 26)
/* int, bytes, str, dict, exceptions, types */
#define FLAGS_OTHER_SUBCLASS (1ul << 24 | 1ul << 27 | 1ul << 28 | 1ul << 29 | 1ul << 30 | 1ul << 31)
#define MA_KEYS 32
#define MA_VALUES 40

static __always_inline void push_level(struct sb_span_thread* thread, __u64 cursor, __u64 left,
                                       __u32 stride, __u64 key) {
  __u32 at = thread->levels;
  struct sb_span_level* level;

  if (left == 0) return;
  if (at >= SB_SPAN_LEVELS) {
    thread->event.flags |= SB_SPAN_PARTIAL;
    return;
  }
  if (left > SB_SPAN_ITEMS) {
    left = SB_SPAN_ITEMS;
    thread->event.flags |= SB_SPAN_PARTIAL;
  }
  level = &thread->level[at];
  level->cursor = cursor;
  level->key = key;
  level->left = left;
  level->stride = stride;
  thread->levels = at + 1;
}

/* From ob_type on: read at once. */
struct sb_object {
  __u64 type;
  __u64 at_16; /* of a list or tuple: ob_size */
  __u64 at_24; /* of a list: ob_item */
};

/* The last object of a page may be shorter. A list or tuple has its size in any case: one that lies
 * is looked through in vain then, and is not taken for an empty one. */
static __always_inline bool read_object(struct sb_object* object, __u64 address) {
  if (read_user(object, sizeof(*object), address + OB_TYPE_OFFSET)) return true;
  object->at_16 = object->at_24 = 0;
  if (read_user(object, 16, address + OB_TYPE_OFFSET)) return true;
  return read_user(&object->type, sizeof(object->type), address + OB_TYPE_OFFSET);
}

static __always_inline void push_tuple(struct sb_span_thread* thread, __u64 tuple, __u64 key) {
  __u64 size;

  if (read_user(&size, sizeof(size), tuple + OB_SIZE))
    push_level(thread, tuple + span_layout.tuple_items, size, 8, key);
  else
    thread->event.flags |= SB_SPAN_PARTIAL;
}

/* Of keyword arguments: a dict with its own keys, and not many. */
static __always_inline void push_dict(struct sb_span_thread* thread, __u64 dict) {
  __u64 keys = 0, values = 0, entries = 0, index_bytes = 0;
  __u8 small = 0;
  bool wide = true;

  if (!read_user(&keys, sizeof(keys), dict + MA_KEYS) ||
      !read_user(&values, sizeof(values), dict + MA_VALUES) ||
      !read_user(&entries, sizeof(entries), keys + span_layout.keys_nentries) || values != 0) {
    thread->event.flags |= SB_SPAN_PARTIAL;
    return;
  }
  if (span_layout.keys_kind) { /* 3.11 on */
    if (read_user(&small, sizeof(small), keys + span_layout.keys_kind)) wide = small == 0;
    if (read_user(&small, sizeof(small), keys + span_layout.keys_log2_index_bytes))
      index_bytes = 1ull << (small & 63);
  } else if (read_user(&index_bytes, sizeof(index_bytes), keys + span_layout.keys_size) &&
             index_bytes > 0x80) {
    index_bytes = 0; /* indices of two bytes and more */
  }
  if (index_bytes == 0 || index_bytes > 4096) {
    thread->event.flags |= SB_SPAN_PARTIAL;
    return;
  }
  push_level(thread, keys + span_layout.keys_indices + index_bytes + (wide ? 16 : 8), entries,
             wide ? 24 : 16, SB_SPAN_OWN_KEY);
}

static __always_inline void add_tensor(struct sb_span_thread* thread, __u64 address,
                                       const struct sb_object* object, __u64 key) {
  __u64 impl;

  if (span_layout.tensor_impl == 16)
    add_impl(&thread->event, object->at_16, key);
  else if (span_layout.tensor_impl == 24)
    add_impl(&thread->event, object->at_24, key);
  else if (read_user(&impl, sizeof(impl), address + span_layout.tensor_impl))
    add_impl(&thread->event, impl, key);
  else
    thread->event.flags |= SB_SPAN_PARTIAL;
}

static __always_inline __u8 kind_of(struct sb_span_event* event, __u64 type) {
  __u8* known = bpf_map_lookup_elem(&value_types, &type);
  __u64 flags;

  if (known) return *known;
  if (!read_user(&flags, sizeof(flags), type + TP_FLAGS)) {
    event->flags |= SB_SPAN_PARTIAL;
    return SB_VALUE_OTHER;
  }
  if (flags & FLAG_TUPLE_SUBCLASS) return SB_VALUE_TUPLE;
  if (flags & FLAG_LIST_SUBCLASS) return SB_VALUE_LIST;
  if (flags & FLAGS_OTHER_SUBCLASS) return SB_VALUE_OTHER;
  if (event->unknown_type != 0 && event->unknown_type != type) event->flags |= SB_SPAN_PARTIAL;
  event->unknown_type = type;
  return SB_VALUE_OTHER;
}

static __always_inline void take_value(struct sb_span_thread* thread, __u64 address, __u64 key) {
  struct sb_object object;

  if (!read_object(&object, address)) {
    thread->event.flags |= SB_SPAN_PARTIAL;
    return;
  }
  switch (kind_of(&thread->event, object.type)) {
    case SB_VALUE_TENSOR:
      add_tensor(thread, address, &object, key);
      return;
    case SB_VALUE_TUPLE:
      push_level(thread, address + span_layout.tuple_items, object.at_16, 8,
                 key ? key : SB_SPAN_NESTED_KEY);
      return;
    case SB_VALUE_LIST:
      push_level(thread, object.at_24, object.at_16, 8, key ? key : SB_SPAN_NESTED_KEY);
      return;
  }
}

/* All tensors in `value` (0: none) and in the levels, in order. */
static __always_inline void find_tensors(struct sb_span_thread* thread, __u64 value) {
  __u64 key = 0;
  int i;

  for (i = 0; i < SB_SPAN_ITEMS; i++) {
    if (value == 0) {
      __u32 at = thread->levels - 1;
      struct sb_span_level* level;

      if (at >= SB_SPAN_LEVELS) return; /* none is left */
      level = &thread->level[at];
      if (level->left == 0) {
        thread->levels = at;
        continue;
      }
      level->left--;
      key = level->key;
      if (!read_user(&value, sizeof(value), level->cursor) ||
          (key == SB_SPAN_OWN_KEY && !read_user(&key, sizeof(key), level->cursor - 8))) {
        thread->event.flags |= SB_SPAN_PARTIAL;
        return;
      }
      level->cursor += level->stride;
      if (value == 0) continue; /* a deleted entry */
    }
    take_value(thread, value, key);
    value = 0;
  }
  if (thread->levels != 0) thread->event.flags |= SB_SPAN_PARTIAL;
}

static __always_inline __u64 caller_at_begin(struct pt_regs* ctx) {
  __u64 caller = 0;

  if (span_layout.saved_at[0]) caller = sb_caller(caller, LOAD_FIELD(ctx, rbx));
  if (span_layout.saved_at[1]) caller = sb_caller(caller, LOAD_FIELD(ctx, rbp));
  if (span_layout.saved_at[2]) caller = sb_caller(caller, LOAD_FIELD(ctx, r12));
  if (span_layout.saved_at[3]) caller = sb_caller(caller, LOAD_FIELD(ctx, r13));
  if (span_layout.saved_at[4]) caller = sb_caller(caller, LOAD_FIELD(ctx, r14));
  if (span_layout.saved_at[5]) caller = sb_caller(caller, LOAD_FIELD(ctx, r15));
  return caller;
}

/* The same, of what the function saved. */
static __always_inline __u64 caller_at_end(__u64 stack) {
  __u64 saved[SB_SAVE_SLOTS]; /* the first slot is the last of them */
  __u64 caller = 0;

  if (!read_user(saved, sizeof(saved), stack - sizeof(saved))) return 0;
#pragma unroll
  for (__u32 i = 0; i < SB_SAVED_REGISTERS; ++i) {
    __u32 at = span_layout.saved_at[i];

    if (at) caller = sb_caller(caller, saved[(SB_SAVE_SLOTS - at) & (SB_SAVE_SLOTS - 1)]);
  }
  return caller;
}

static __always_inline void begin_span(struct pt_regs* ctx, __u64 object, __u64 delay_ns) {
  struct sb_span_thread* thread = this_thread_from_now_on();
  struct sb_call_key key = {.stack = LOAD_FIELD(ctx, rsp),
                            .caller = caller_at_begin(ctx),
                            .tid = (__u32)bpf_get_current_pid_tgid()};
  __u64 args = LOAD_FIELD(ctx, rsi);
  __u64 kwargs = LOAD_FIELD(ctx, rdx);
  struct sb_span_event* event;

  if (!thread || !open_call(&thread->calls, &key, object)) {
    __sync_fetch_and_add(&spans_lost, 1);
    return;
  }
  event = new_span_event(thread, object, &key, SB_SPAN_BEGIN);
  event->delay_ns = delay_ns;
  if (span_layout.knows_tensors) {
    if (kwargs) push_dict(thread, kwargs);
    push_tuple(thread, args, 0);
    find_tensors(thread, 0);
  }
  event->at_ns = bpf_ktime_get_ns();
  if (send_span_event(event)) return;
  /* An end is told only of a call whose begin was: it closes what had its place before. */
  close_call(&thread->calls, &key);
  __sync_fetch_and_add(&spans_lost, 1);
}

static __always_inline bool find_site(struct sb_thread_calls* calls, __u64 address,
                                      struct sb_span_site* site) {
  const struct sb_span_site* found;

  if (calls->site_address == address) {
    *site = calls->site;
    return true;
  }
  found = bpf_map_lookup_elem(&span_sites, &address);
  if (!found) return false;
  calls->site = *site = *found;
  calls->site_address = address;
  return true;
}

static __always_inline void end_span(struct pt_regs* ctx) {
  __u64 now_ns = bpf_ktime_get_ns();
  struct sb_span_thread* thread = this_thread();
  struct sb_call_key key = {.tid = (__u32)bpf_get_current_pid_tgid()};
  struct sb_span_site site;
  struct sb_span_event* event;
  __u64 object, result;

  if (!thread || !is_any_open(&thread->calls)) return;
  if (!find_site(&thread->calls, LOAD_FIELD(ctx, rip), &site)) return;
  key.stack = LOAD_FIELD(ctx, rsp) + site.stack_bytes;
  if (!may_end_call(&thread->calls, key.stack)) return;
  key.caller = caller_at_end(key.stack);
  object = close_call(&thread->calls, &key);
  if (object == 0 || is_off()) return;
  result = read_register(ctx, site.result);
  event = new_span_event(thread, object, &key, SB_SPAN_END);
  event->at_ns = now_ns;
  if (result == 0)
    event->flags |= SB_SPAN_RAISED;
  else if (span_layout.knows_tensors)
    find_tensors(thread, result);
  send_span_event(event); /* the daemon closes it where it has a later one's */
}

static __always_inline void count_span(struct pt_regs* ctx) {
  __u64 delay_ns = 0;
  __u64 object = count_module(ctx, &delay_ns);

  if (object) begin_span(ctx, object, delay_ns);
}

SEC("uprobe.s")
int sb_span_begin(struct pt_regs* ctx) {
  run_on_own_stack(ctx);
  count_span(ctx);
  return 0;
}

/* As sb_native_hit_multi. */
SEC("uprobe.s")
int sb_span_begin_multi(struct pt_regs* ctx) {
  run_on_own_stack(ctx);
  count_span(ctx);
  return 0;
}

SEC("uprobe.s")
int sb_span_end(struct pt_regs* ctx) {
  run_on_own_stack(ctx);
  end_span(ctx);
  return 0;
}

SEC("uprobe.s")
int sb_span_end_multi(struct pt_regs* ctx) {
  run_on_own_stack(ctx);
  end_span(ctx);
  return 0;
}

#endif /* SBUMP_BPF_SPAN_BPF_H_ */
