// Where the frames of a generator or coroutine are entered (3.11 on): at the RESUME of its start,
// and at one RESUME behind each YIELD_VALUE (Python/compile.c: every yield, yield from, await and
// async for ends in that pair). The RESUME with which a generator expression of 3.15 takes its
// iterator is none of them: it makes the generator, whose frame is entered later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/cpython/code_object.h"
#include "daemon/cpython/layout.h"
#include "daemon/process/remote_memory.h"

namespace sbump {

struct CodeUnit {
  uint8_t opcode = 0;
  uint8_t oparg = 0;
};

inline constexpr int64_t kMaxCodeUnits = 262'144;
// A thread waits while they are armed, and the journal has room for so many at once.
inline constexpr size_t kMaxResumeUnits = 1000;

// Indices into `code` (co_code_adaptive, whole), rising; `first` (_co_firsttraceable) is one of
// them. All of the code is read instruction by instruction, and what cannot be followed to its end
// without doubt is refused: kUnavailable where instructions are replaced for now (a tool watches
// its lines, the JIT), kDataLoss where it is no code of this version, kResourceExhausted.
absl::StatusOr<std::vector<size_t>> FindResumeUnits(const Layout& layout,
                                                    std::span<const CodeUnit> code, size_t first);

// Of a code object: the addresses, head.unit the first of them.
absl::StatusOr<std::vector<RemoteAddr>> ReadResumeUnits(const MemoryReader& memory,
                                                        const Layout& layout, const CodeHead& head);

// Whether the unit at `addr` can be one of these: what is left to ask of one that ReadResumeUnits()
// once gave, since the code of an object never moves.
absl::StatusOr<bool> MayBeResumeUnit(const MemoryReader& memory, const Layout& layout,
                                     const CodeHead& head, RemoteAddr addr);

}  // namespace sbump
