/* SPDX-License-Identifier: GPL-2.0 */
/* What cannot match: most code is none of the session's business, and need not wait for the daemon
 * to say so.
 */
#ifndef SBUMP_BPF_WANTED_BPF_H_
#define SBUMP_BPF_WANTED_BPF_H_

#include "bpf/session.bpf.h"
#include "bpf/shared/text.h"
#include "bpf/thread_state.bpf.h"

/* Of files (sb_text_hash of co_filename), what is known of them: SB_FILE_*. The kernel has 16 bytes
 * for each that could be there, here and below. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u64);
  __type(value, __u8);
} known_files SEC(".maps");

/* With control.filters_names: the only names (sb_text_hash) that some pattern takes. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u64);
  __type(value, __u8);
} wanted_names SEC(".maps");

struct text {
  __u64 words[SB_TEXT_WORDS];
  __u64 length;
};

/* PyASCIIObject: length, hash, state; the bits of `state`: Include/cpython/unicodeobject.h. */
struct str_head {
  __u64 length;
  __u64 hash;
  __u32 state;
  __u32 pad;
};
#define STR_HEAD_OFFSET 16
#define STR_COMPACT_ASCII ((1u << 5) | (1u << 6))

/* The hash of the str that the pointer at `field` points to; 0 where the daemon has to read it. */
static __noinline __u64 hash_of_str_at(__u64 field) {
  struct str_head head;
  struct text text = {};
  __u64 str, length;

  if (!read_user(&str, sizeof(str), field) ||
      !read_user(&head, sizeof(head), str + STR_HEAD_OFFSET + config.head_shift) ||
      (head.state & STR_COMPACT_ASCII) != STR_COMPACT_ASCII)
    return 0;
  length = head.length;
  if (length == 0 || length > SB_TEXT_BYTES) return 0;
  if (!read_user(text.words, length, str + config.ascii_data)) return 0;
  return sb_text_hash(text.words, length);
}

static __always_inline bool is_wanted(__u64 name) {
  return !control.filters_names || bpf_map_lookup_elem(&wanted_names, &name);
}

static __always_inline __u8 what_is_known_of_file(__u64 code) {
  __u64 file = hash_of_str_at(code + config.co_filename);
  __u8* known = file == 0 ? 0 : bpf_map_lookup_elem(&known_files, &file);

  return known ? *known : 0;
}

/* A module's own code runs once, and tells under which name its file is imported. */
static __always_inline bool can_match(__u64 code) {
  __u64 name = hash_of_str_at(code + config.code_name);
  bool asks = name == config.module_code_name && control.asks_modules;
  __u8 known;

  if (name == 0) return true;
  if (!asks && !is_wanted(name)) return false;
  known = what_is_known_of_file(code);
  if (asks && !(known & SB_FILE_OF_NO_MODULE)) return true;
  return is_wanted(name) && !(known & SB_FILE_UNWANTED);
}

#endif /* SBUMP_BPF_WANTED_BPF_H_ */
