/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Names by their hash, so that the programs can tell what cannot match without asking the daemon.
 */
#ifndef SBUMP_BPF_SHARED_TEXT_H_
#define SBUMP_BPF_SHARED_TEXT_H_

#include "bpf/shared/types.h"

/* Longer names, and those that are not ASCII, are for the daemon. A multiple of 8. */
#define SB_TEXT_BYTES 192
#define SB_TEXT_WORDS (SB_TEXT_BYTES / 8)

/* What the daemon tells of a file: no pattern takes it, under any name; and what runs in it under a
 * module's name is no module's, and tells nothing. */
#define SB_FILE_UNWANTED 1
#define SB_FILE_OF_NO_MODULE 2

/* Of an ASCII name of `length` bytes in words whose remaining bytes are 0. Multiplied as in
 * sb_fingerprint(), and folded so that each input bit reaches the low half too.
 */
static inline __u64 sb_text_hash(const __u64 words[SB_TEXT_WORDS], __u64 length) {
  __u64 hash = length;
  int i;

  for (i = 0; i < SB_TEXT_WORDS; i++) {
    hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
  }
  return hash;
}

#endif /* SBUMP_BPF_SHARED_TEXT_H_ */
