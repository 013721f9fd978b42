/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Fixed-width types and static assertions for headers that BPF C and C++ both read. */
#ifndef SBUMP_BPF_SHARED_TYPES_H_
#define SBUMP_BPF_SHARED_TYPES_H_

#include <linux/types.h>

#ifdef __cplusplus
#define SB_STATIC_ASSERT(condition, message) static_assert(condition, message)
#else
#define SB_STATIC_ASSERT(condition, message) _Static_assert(condition, message)
#endif

#endif /* SBUMP_BPF_SHARED_TYPES_H_ */
