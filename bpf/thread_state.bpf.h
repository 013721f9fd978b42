/* SPDX-License-Identifier: GPL-2.0 */
/* What a program reads of the thread that it interrupted: registers and memory. */
#ifndef SBUMP_BPF_THREAD_STATE_BPF_H_
#define SBUMP_BPF_THREAD_STATE_BPF_H_

#include "bpf/kernel.h"
#include "bpf/session.bpf.h"
#include "bpf/shared/verdict.h"

/* Include/object.h; head_shift is to be added. */
#define OB_TYPE_OFFSET 8

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

#endif /* SBUMP_BPF_THREAD_STATE_BPF_H_ */
