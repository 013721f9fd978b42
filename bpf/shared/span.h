/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the programs tell of a call of a module, or of an operator: its begin and its end, with the
 * tensors that went in and came out. Pairing, nesting and names are the daemon's part.
 */
#ifndef SBUMP_BPF_SHARED_SPAN_H_
#define SBUMP_BPF_SHARED_SPAN_H_

#include "bpf/shared/types.h"

enum sb_span_event_kind {
  SB_SPAN_BEGIN = 0,
  SB_SPAN_END = 1,
  SB_OPERATOR_BEGIN = 2, /* bpf/shared/operator.h */
  SB_OPERATOR_END = 3,
};

/* What is told of one begin or end at most; more sets SB_SPAN_PARTIAL. */
#define SB_SPAN_TENSORS 16
#define SB_TENSOR_DIMS 16 /* of one */
#define SB_SPAN_ITEMS 64  /* that are looked at, and levels that are left */
/* Words of all its tensors: 4 of each, and its dims. */
#define SB_SPAN_WORDS 160

#define SB_SPAN_PARTIAL 1u /* not all was looked at */
#define SB_SPAN_RAISED 2u  /* END: the call ended with an exception */
#define SB_SPAN_BLIND 4u   /* shapes were not looked for */

struct sb_span_tensor {
  __u64 key; /* address of the keyword's str; 0: a positional argument, or a result; or
                SB_SPAN_NESTED_KEY */
  __u32 dims;
  __u32 key_hash; /* the low half of the str's hash: whether it is still there when it is read */
  __u64 impl;     /* c10::TensorImpl* */
  __u64 storage;  /* c10::StorageImpl*; 0: none, or not asked for */
};
#define SB_TENSOR_WORDS 4
SB_STATIC_ASSERT(sizeof(struct sb_span_tensor) == 8 * SB_TENSOR_WORDS,
                 "sb_span_tensor has no hidden padding");

/* sb_span_tensor.key: within a list or tuple that is a positional argument. */
#define SB_SPAN_NESTED_KEY 2ull

/* Sent up to its last word. */
struct sb_span_event {
  __u64 object;       /* of an operator: its number */
  __u64 at_ns;        /* CLOCK_MONOTONIC; BEGIN: after the delay */
  __u64 stack;        /* stack pointer at the function's first instruction, and */
  __u64 caller;       /* sb_caller() there: name the call */
  __u64 delay_ns;     /* BEGIN: injected */
  __u64 unknown_type; /* of a value of which the daemon has not said what it is; 0: none */
  __u32 tid;          /* in the daemon's pid namespace; 0: not to be seen from there */
  __u32 kind;
  __u32 flags;
  __u32 tensors;
  __u32 words;
  __u32 pad;
  __u64 word[SB_SPAN_WORDS]; /* each tensor as sb_span_tensor, and its dims as __s64 after it */
};
#define SB_SPAN_HEAD_BYTES 72
SB_STATIC_ASSERT(sizeof(struct sb_span_event) == SB_SPAN_HEAD_BYTES + 8 * SB_SPAN_WORDS,
                 "sb_span_event has no hidden padding");

/* Where returns are seen, by the address of the probed instruction. */
struct sb_span_site {
  __u32 stack_bytes; /* how much lower the stack pointer is there */
  __u32 result;      /* x86-64 number of the register that holds what is returned */
};

#define SB_SAVED_REGISTERS 6
#define SB_SAVE_SLOTS 8

/* What a value of a type is. */
enum sb_value_kind {
  SB_VALUE_OTHER = 1,
  SB_VALUE_TENSOR = 2,
  SB_VALUE_TUPLE = 3,
  SB_VALUE_LIST = 4,
};
#define SB_VALUE_TYPES 4096

/* Of the process: where its objects keep what. */
struct sb_span_layout {
  __u32 knows_tensors;  /* 0: shapes are not looked for */
  __u32 tensor_impl;    /* in the Python object: c10::TensorImpl* */
  __u32 tensor_sizes;   /* in the TensorImpl: sizes_and_strides_ */
  __u32 tensor_storage; /* in the TensorImpl: storage_; 0: not to be told */
  __u32 tuple_items;
  __u32 keys_size; /* 3.8 to 3.10: int64 dk_size; else 0 */
  __u32 keys_log2_index_bytes;
  __u32 keys_kind; /* 3.11 on; else 0 */
  __u32 keys_nentries;
  __u32 keys_indices;
  /* Of rbx, rbp, r12, r13, r14 and r15: the function begins with putting it into the Nth 8 bytes
   * below the stack pointer at its first instruction; 0: it does not. */
  __u8 saved_at[SB_SAVED_REGISTERS];
  __u8 pad[2];
};

/* What a caller of the function had in these registers, and finds there again: another frame of it
 * has another value in one of them. */
static inline __u64 sb_caller(__u64 so_far, __u64 value) {
  __u64 mixed = (so_far ^ value) * 0x9e3779b97f4a7c15ull; /* 2^64 / golden ratio */

  return mixed ^ mixed >> 32;
}

/* Calls that have begun and not ended: of one thread, a power of two, and those of all threads that
 * found no place there. */
#define SB_NESTED_CALLS 64
#define SB_OPEN_CALLS 16384
#define SB_SPAN_BYTES (8 << 20)           /* of the ring buffer */
#define SB_OPERATOR_SPAN_BYTES (32 << 20) /* the same where operators are told, too */
#define SB_FEW_SPAN_BYTES (1 << 20)       /* the same where a session is on several processes */

#endif /* SBUMP_BPF_SHARED_SPAN_H_ */
