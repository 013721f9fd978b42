// What is written into a code object to make it run through the probe site, and how it is undone,
// per version. Decisions only: nothing here writes.
//
// Sources: facts measured on CPython 3.8 to 3.15 and read in Python/ceval.c, Python/specialize.c
// (3.11) and Python/instrumentation.c (3.12, 3.13).
#pragma once

#include <string>
#include <vector>

#include "daemon/attach/journal.h"
#include "daemon/cpython/code_object.h"
#include "daemon/cpython/interpreter.h"

namespace sbump {

// Of a generator or coroutine: where it starts, or also where it is resumed.
enum class Entries { kStart, kAll };

struct ArmingDecision {
  enum class Kind {
    kWrite,    // journal and write `fields` (their values may be there already: they are adopted)
    kLater,    // the object is cold: it runs through the site by itself until the programs say kArm
    kBlocked,  // must not be armed now: `why`
  };
  Kind kind = Kind::kBlocked;
  std::vector<ArmedField> fields;
  std::string why;  // with kWrite: of fields that are left out
};

// What to do with a matching code object. The process must be stopped, or the thread that executes
// this very object held; `introduced` says that the object has just passed the introducing function
// (3.11 on: only then, or when the process is stopped on 3.11, may it be armed).
absl::StatusOr<ArmingDecision> DecideArming(const MemoryReader& memory,
                                            const Interpreter& interpreter, const CodeHead& head,
                                            Entries entries, bool introduced);

// What to do with a field that was armed: the bytes to write, or nothing because there is nothing
// left of it (the object is gone or was changed back). Validates the object anew.
struct DisarmingDecision {
  bool write = false;
  bool unknown = false;  // something could not be read: the field may still be armed
  ArmedField field;
  std::string why_not;
};
DisarmingDecision DecideDisarming(const MemoryReader& memory, const Interpreter& interpreter,
                                  const ArmedField& armed);

// The current value of a field of 1 or 4 bytes.
absl::StatusOr<int32_t> ReadField(const MemoryReader& memory, const ArmedField& field);
absl::Status WriteField(MemoryWriter& memory, const ArmedField& field, int32_t value);

// 3.8 to 3.10: co_opcache_flag of a code object that has its opcache (Python/ceval.c,
// OPCACHE_MIN_RUNS).
inline constexpr int32_t kOpcacheLimit = 1024;

}  // namespace sbump
