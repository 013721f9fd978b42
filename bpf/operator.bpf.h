/* SPDX-License-Identifier: GPL-2.0 */
/* Calls of operators from begin to end (bpf/shared/operator.h): those that no other one makes. Told
 * with the spans, in one ring buffer, so that they come in their order.
 */
#ifndef SBUMP_BPF_OPERATOR_BPF_H_
#define SBUMP_BPF_OPERATOR_BPF_H_

#include "bpf/image.bpf.h"
#include "bpf/own_stack.bpf.h"
#include "bpf/shared/operator.h"
#include "bpf/span.bpf.h"
#include "bpf/tensor.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, SB_OPERATORS);
  __type(key, __u32); /* its number: the cookie of its probes */
  __type(value, struct sb_operator);
} operators SEC(".maps");

static __always_inline __u64 value_at(struct pt_regs* ctx, __u32 place) {
  __u64 value;

  switch (place) {
    case 0:
      return LOAD_FIELD(ctx, rdi);
    case 1:
      return LOAD_FIELD(ctx, rsi);
    case 2:
      return LOAD_FIELD(ctx, rdx);
    case 3:
      return LOAD_FIELD(ctx, rcx);
    case 4:
      return LOAD_FIELD(ctx, r8);
    case 5:
      return LOAD_FIELD(ctx, r9);
  }
  value = LOAD_FIELD(ctx, rsp) + 8 * (place - SB_REGISTER_PLACES + 1);
  return read_user(&value, sizeof(value), value) ? value : 0;
}

/* Where TensorImpl* are, one after the other. */
struct sb_tensors {
  __u64 cursor;
  __u64 left;
};

/* c10/util/Optional.h until torch 2.2, std::optional since. */
static __always_inline bool is_engaged(struct sb_span_event* event, __u64 flag) {
  __u8 engaged;

  if (read_user(&engaged, sizeof(engaged), flag)) return engaged != 0;
  event->flags |= SB_SPAN_PARTIAL;
  return false;
}

/* c10/core/IListRef.h: an ArrayRef and a tag, of which 0 says that it is one. */
static __always_inline struct sb_tensors of_list_ref(struct sb_span_event* event, __u64 list) {
  struct {
    __u64 data, size;
    __u32 tag;
    __u32 pad;
  } value;

  if (read_user(&value, sizeof(value), list) && value.tag == 0)
    return (struct sb_tensors){value.data, value.size};
  event->flags |= SB_SPAN_PARTIAL;
  return (struct sb_tensors){};
}

static __always_inline struct sb_tensors of_argument(struct pt_regs* ctx,
                                                     struct sb_span_event* event, __u32 kind,
                                                     __u32 place) {
  __u64 value = value_at(ctx, place);

  switch (kind) {
    case SB_ARGUMENT_OPTIONAL:
      return (struct sb_tensors){value, is_engaged(event, value + 8)};
    case SB_ARGUMENT_C10_OPTIONAL:
      return (struct sb_tensors){value + 8, is_engaged(event, value)};
    case SB_ARGUMENT_ARRAY:
      return (struct sb_tensors){value, value_at(ctx, place + 1)};
    case SB_ARGUMENT_LIST_REF:
      return of_list_ref(event, value);
  }
  return (struct sb_tensors){value, 1};
}

static __always_inline void set_list(struct sb_span_thread* thread, struct sb_tensors tensors) {
  if (tensors.left > SB_SPAN_TENSORS) {
    tensors.left = SB_SPAN_TENSORS;
    thread->event.flags |= SB_SPAN_PARTIAL;
  }
  thread->level[0].cursor = tensors.cursor;
  thread->level[0].stride = 8;
  thread->level[0].left = (__u32)tensors.left;
}

/* An undefined tensor is told with the others: it has no storage. */
static __always_inline void add_next(struct sb_span_event* event, struct sb_span_level* list) {
  __u64 impl;

  if (read_user(&impl, sizeof(impl), list->cursor))
    add_impl(event, impl, 0);
  else
    event->flags |= SB_SPAN_PARTIAL;
  list->cursor += (__s32)list->stride;
  list->left--;
}

/* Where it stands is in the event, or the verifier would follow each way there is. */
static __always_inline void add_arguments(struct pt_regs* ctx, struct sb_span_thread* thread,
                                          const struct sb_operator* operation) {
  struct sb_span_event* event = &thread->event;
  struct sb_span_level* list = &thread->level[0];
  struct sb_tensors tensors;
  int i;

  list->left = 0;
  for (i = 0; i < SB_OPERATOR_ARGUMENTS + SB_SPAN_TENSORS; i++) {
    __u32 next;

    if (list->left != 0) {
      add_next(event, list);
      continue;
    }
    /* Read here, not before: tests/bpf/loops_test.py. */
    next = (__u32) * (volatile __u64*)&thread->levels;
    if (next >= operation->arguments || next >= SB_OPERATOR_ARGUMENTS) return;
    thread->levels = next + 1;
    tensors =
        of_argument(ctx, event, operation->argument[next].kind, operation->argument[next].place);
    set_list(thread, tensors);
  }
  event->flags |= SB_SPAN_PARTIAL;
}

static __always_inline void add_results(struct sb_span_thread* thread,
                                        const struct sb_operator* operation, __u64 result) {
  struct sb_span_event* event = &thread->event;
  struct sb_span_level* list = &thread->level[0];
  struct sb_tensors tensors = {result, 0};
  __u64 range[2];
  int i;

  if (operation->returns == SB_RETURNS_TENSOR) tensors.left = 1;
  if (operation->returns == SB_RETURNS_TUPLE) tensors.left = operation->results;
  if (operation->returns == SB_RETURNS_VECTOR && read_user(range, sizeof(range), result)) {
    tensors.cursor = range[0];
    tensors.left = (range[1] - range[0]) / 8;
  }
  set_list(thread, tensors);
  if (operation->returns == SB_RETURNS_TUPLE && tensors.left != 0) { /* the last one is first */
    list->cursor += (tensors.left - 1) * 8;
    list->stride = (__u32)-8;
  }
  for (i = 0; i < SB_SPAN_TENSORS; i++) {
    if (list->left == 0) return;
    add_next(event, list);
  }
}

/* One that raised has left without being seen: the return address is overwritten some time, and
 * nothing that is called further up the stack is called by it.
 */
static __always_inline bool is_within(const struct sb_open_operator* open, __u64 stack) {
  __u64 return_to;

  return stack < open->stack && read_user(&return_to, sizeof(return_to), open->stack) &&
         return_to == open->return_to;
}

static __always_inline void begin_operator(struct pt_regs* ctx) {
  struct sb_span_thread* thread = this_thread_from_now_on();
  struct sb_open_operator open = {.stack = LOAD_FIELD(ctx, rsp),
                                  .number = bpf_get_attach_cookie(ctx)};
  __u32 number = (__u32)open.number;
  const struct sb_operator* operation = bpf_map_lookup_elem(&operators, &number);
  struct sb_call_key key = {.stack = open.stack};
  struct sb_span_event* event;

  if (!operation || is_off() || !span_layout.knows_tensors) return;
  if (!thread) {
    __sync_fetch_and_add(&spans_lost, 1);
    return;
  }
  if (is_within(&thread->operation, open.stack)) return;
  if (!read_user(&open.return_to, sizeof(open.return_to), open.stack)) {
    __sync_fetch_and_add(&spans_lost, 1);
    return;
  }
  thread->operation = open;
  event = new_span_event(thread, number, &key, SB_OPERATOR_BEGIN);
  if (operation->partial) event->flags |= SB_SPAN_PARTIAL;
  add_arguments(ctx, thread, operation);
  event->at_ns = bpf_ktime_get_ns();
  if (!send_span_event(event)) __sync_fetch_and_add(&spans_lost, 1);
}

static __always_inline __u64 result_of(struct pt_regs* ctx, const struct sb_operator* operation) {
  __u64 result = read_register(ctx, operation->result);

  if (!operation->loaded) return result;
  return read_user(&result, sizeof(result), result + operation->result_offset) ? result : 0;
}

static __always_inline void end_operator(struct pt_regs* ctx) {
  __u64 now_ns = bpf_ktime_get_ns();
  __u32 number = (__u32)bpf_get_attach_cookie(ctx);
  struct sb_span_thread* thread = this_thread();
  const struct sb_operator* operation = bpf_map_lookup_elem(&operators, &number);
  struct sb_call_key key = {};
  struct sb_span_event* event;

  if (!operation || !thread || thread->operation.number != number) return;
  key.stack = read_register(ctx, operation->frame) + operation->frame_offset;
  if (thread->operation.stack != key.stack) return;
  thread->operation.stack = 0;
  if (is_off()) return;
  event = new_span_event(thread, number, &key, SB_OPERATOR_END);
  event->at_ns = now_ns;
  add_results(thread, operation, result_of(ctx, operation));
  if (!send_span_event(event)) __sync_fetch_and_add(&spans_lost, 1);
}

SEC("uprobe.s")
int sb_operator_begin(struct pt_regs* ctx) {
  run_on_own_stack(ctx);
  begin_operator(ctx);
  return 0;
}

SEC("uprobe.s")
int sb_operator_end(struct pt_regs* ctx) {
  run_on_own_stack(ctx);
  end_operator(ctx);
  return 0;
}

#endif /* SBUMP_BPF_OPERATOR_BPF_H_ */
