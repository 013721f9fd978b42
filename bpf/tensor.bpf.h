/* SPDX-License-Identifier: GPL-2.0 */
/* A tensor (c10::TensorImpl) into an event: what it is, and its dims, by offsets that the daemon
 * calibrated.
 */
#ifndef SBUMP_BPF_TENSOR_BPF_H_
#define SBUMP_BPF_TENSOR_BPF_H_

#include "bpf/shared/span.h"
#include "bpf/thread_state.bpf.h"

struct sb_span_layout span_layout = {};

/* c10/core/impl/SizesAndStrides.h: up to so many dims are in the object itself. */
#define INLINE_DIMS 5
#define STR_HASH 24 /* PyASCIIObject.hash: of a dict's key always computed */

static __always_inline bool read_dims(struct sb_span_event* event, __u64 impl, __u32 first,
                                      __u32* dims) {
  __u64 sizes, count, bytes;

  if (!read_user(&count, sizeof(count), impl + span_layout.tensor_sizes)) return false;
  if (count > SB_TENSOR_DIMS) return false;
  *dims = (__u32)count;
  if (count == 0) return true;
  sizes = impl + span_layout.tensor_sizes + 8;
  if (count > INLINE_DIMS && !read_user(&sizes, sizeof(sizes), sizes)) return false;
  bytes = count * 8;
  asm volatile("" : "+r"(bytes)); /* for the verifier: checked where it is used */
  if (bytes > SB_TENSOR_DIMS * 8) return false;
  return read_user(&event->dim[first], bytes, sizes);
}

static __always_inline void add_impl(struct sb_span_event* event, __u64 impl, __u64 key) {
  __u32 number = event->tensors;
  __u32 first = event->dims;
  __u64 storage = 0;
  __u32 dims, hash;

  if (number >= SB_SPAN_TENSORS || first > SB_SPAN_DIMS - SB_TENSOR_DIMS ||
      !read_dims(event, impl, first, &dims)) {
    event->flags |= SB_SPAN_PARTIAL;
    return;
  }
  if (span_layout.tensor_storage &&
      !read_user(&storage, sizeof(storage), impl + span_layout.tensor_storage))
    storage = 0;
  event->tensor[number].key = key;
  event->tensor[number].dims = dims;
  event->tensor[number].key_hash = 0;
  event->tensor[number].impl = impl;
  event->tensor[number].storage = storage;
  if (key > SB_SPAN_NESTED_KEY && read_user(&hash, sizeof(hash), key + STR_HASH))
    event->tensor[number].key_hash = hash;
  event->tensors = number + 1;
  event->dims = first + dims;
}

#endif /* SBUMP_BPF_TENSOR_BPF_H_ */
