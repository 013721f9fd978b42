/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Operators of torch's dispatcher: C++ functions, each with a probe where it begins and one where
 * it is about to return (daemon/text/return_view.h). By the System V ABI (x86-64 psABI 1.0, 3.2.3)
 * the daemon knows where the tensors are.
 */
#ifndef SBUMP_BPF_SHARED_OPERATOR_H_
#define SBUMP_BPF_SHARED_OPERATOR_H_

#include "bpf/shared/types.h"

#define SB_OPERATORS 8192 /* torch 2.14 has 3,103 */
#define SB_OPERATOR_ARGUMENTS 16

enum sb_argument_kind {
  SB_ARGUMENT_TENSOR = 0,       /* at::Tensor const& */
  SB_ARGUMENT_OPTIONAL = 1,     /* std::optional<at::Tensor> const&: the flag behind it */
  SB_ARGUMENT_C10_OPTIONAL = 2, /* c10::optional<at::Tensor> const&: the flag before it */
  SB_ARGUMENT_ARRAY = 3,        /* c10::ArrayRef<at::Tensor>: pointer and size, two places */
  SB_ARGUMENT_LIST_REF = 4,     /* c10::IListRef<at::Tensor> const& */
};

/* A place: 0 to 5 are rdi, rsi, rdx, rcx, r8 and r9, from 6 on the words above the return address.
 */
struct sb_argument {
  __u8 kind;
  __u8 place;
};
#define SB_REGISTER_PLACES 6

enum sb_returns {
  SB_RETURNS_OTHER = 0,  /* no tensor */
  SB_RETURNS_TENSOR = 1, /* its result leads to it: a returned object, or a reference */
  SB_RETURNS_TUPLE = 2,  /* to a std::tuple of `results` tensors: libstdc++ has the last
                            one first */
  SB_RETURNS_VECTOR = 3, /* to a std::vector<at::Tensor> */
};

struct sb_operator {
  __u8 arguments;
  __u8 returns;
  __u8 results;
  __u8 partial; /* some tensors are not looked at */
  struct sb_argument argument[SB_OPERATOR_ARGUMENTS];
  /* Where it is about to return: x86-64 numbers of registers. The stack pointer that it began with
   * is `frame` + frame_offset; its result (rax) will be what is in `result`, or, `loaded`, in the
   * memory at `result` + result_offset. */
  __u8 frame;
  __u8 result;
  __u8 loaded;
  __u8 pad;
  __s32 frame_offset;
  __s32 result_offset;
};

#endif /* SBUMP_BPF_SHARED_OPERATOR_H_ */
