/* SPDX-License-Identifier: GPL-2.0 */
/* Whether the process still runs the program that the session was let onto. After an exec its
 * probes are met by another one, maybe another user's (setuid), until the daemon has heard of it.
 */
#ifndef SBUMP_BPF_IMAGE_BPF_H_
#define SBUMP_BPF_IMAGE_BPF_H_

#include "bpf/session.bpf.h"
#include "bpf/thread_state.bpf.h"

/* The daemon knows the image by the random bytes that the kernel gives each (AT_RANDOM); from the
 * first pass on its memory's address will do: the daemon holds that memory open, so that no other
 * can have the address.
 */
static __always_inline bool is_other_image(void) {
  struct task_struct* task = (struct task_struct*)bpf_get_current_task();
  __u64 memory = (__u64)BPF_CORE_READ(task, mm);
  __u64 random[2];

  if (memory == control.memory) return false;
  if (control.memory != 0) return true;
  if (!read_user(random, sizeof(random), control.random_addr)) {
    skip(SB_SKIP_UNREADABLE);
    return true;
  }
  if (random[0] != control.random[0] || random[1] != control.random[1]) return true;
  control.memory = memory;
  return false;
}

/* Nothing is counted, delayed or told. */
static __always_inline bool is_off(void) { return control.abort || is_other_image(); }

#endif /* SBUMP_BPF_IMAGE_BPF_H_ */
