/* SPDX-License-Identifier: GPL-2.0 */
/* A tensor (c10::TensorImpl) into an event: what it is, and its dims, by offsets that the daemon
 * calibrated.
 */
#ifndef SBUMP_BPF_TENSOR_BPF_H_
#define SBUMP_BPF_TENSOR_BPF_H_

#include "bpf/shared/span.h"
#include "bpf/span_thread.bpf.h"
#include "bpf/thread_state.bpf.h"

/* c10/core/impl/SizesAndStrides.h: up to so many dims are in the object itself. */
#define INLINE_DIMS 5
#define STR_HASH 24 /* PyASCIIObject.hash: of a dict's key always computed */

struct sb_sizes {
  __u64 count;
  __u64 dim[INLINE_DIMS]; /* or, of more of them, where they are */
};

/* Returns how many; more than SB_TENSOR_DIMS: they cannot be read. `dims` has room for all. */
static __always_inline __u32 read_dims(__u64* dims, __u64 impl) {
  struct sb_sizes sizes;
  __u64 bytes;

  if (!read_user(&sizes, sizeof(sizes), impl + span_layout.tensor_sizes)) return -1;
  if (sizes.count <= INLINE_DIMS) {
    __builtin_memcpy(dims, sizes.dim, sizeof(sizes.dim));
    return (__u32)sizes.count;
  }
  if (sizes.count > SB_TENSOR_DIMS) return -1;
  bytes = sizes.count * 8;
  asm volatile("" : "+r"(bytes)); /* for the verifier: checked where it is used */
  if (bytes > SB_TENSOR_DIMS * 8) return -1;
  return read_user(dims, bytes, sizes.dim[0]) ? (__u32)sizes.count : -1;
}

static __always_inline void add_impl(struct sb_span_event* event, __u64 impl, __u64 key) {
  __u32 at = event->words;
  struct sb_span_tensor* tensor;
  __u64 storage = 0;
  __u32 dims, hash;

  if (event->tensors >= SB_SPAN_TENSORS || at > SB_SPAN_WORDS - SB_TENSOR_WORDS - SB_TENSOR_DIMS) {
    event->flags |= SB_SPAN_PARTIAL;
    return;
  }
  dims = read_dims(&event->word[at + SB_TENSOR_WORDS], impl);
  if (dims > SB_TENSOR_DIMS) {
    event->flags |= SB_SPAN_PARTIAL;
    return;
  }
  if (span_layout.tensor_storage &&
      !read_user(&storage, sizeof(storage), impl + span_layout.tensor_storage))
    storage = 0;
  tensor = (struct sb_span_tensor*)&event->word[at];
  tensor->key = key;
  tensor->dims = dims;
  tensor->key_hash = 0;
  tensor->impl = impl;
  tensor->storage = storage;
  if (key > SB_SPAN_NESTED_KEY && read_user(&hash, sizeof(hash), key + STR_HASH))
    tensor->key_hash = hash;
  event->tensors++;
  event->words = at + SB_TENSOR_WORDS + dims;
}

#endif /* SBUMP_BPF_TENSOR_BPF_H_ */
