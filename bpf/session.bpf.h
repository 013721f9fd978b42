/* SPDX-License-Identifier: GPL-2.0 */
/* What all programs of one session share: what they are told, what they skip. */
#ifndef SBUMP_BPF_SESSION_BPF_H_
#define SBUMP_BPF_SESSION_BPF_H_

#include "bpf/kernel.h"
#include "bpf/shared/config.h"
#include "bpf/shared/event.h"

const volatile struct sb_config config = {};

struct sb_control control = {};
__u64 skipped[SB_SKIP_REASONS] = {};

static __always_inline void skip(enum sb_skip reason) { __sync_fetch_and_add(&skipped[reason], 1); }

#endif /* SBUMP_BPF_SESSION_BPF_H_ */
