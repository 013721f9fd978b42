// Takes back what a journal says was done to a process: in that one, and in what it forked, which
// has copies of it.
#pragma once

#include "daemon/attach/journal.h"
#include "daemon/cpython/interpreter.h"
#include "daemon/process/remote_memory.h"
#include "daemon/process/target_process.h"

namespace sbump {

// The caller holds the lock of the process. Returns how many fields were armed still.
absl::StatusOr<int> UndoIn(const TargetProcess& process, RemoteMemory& memory,
                           InterpreterFileCache& files, const JournalContents& journal);

// In all other processes with that image: forked, perhaps by one that was forked, and not executed
// since (image_random.h). Call it when the journal's own process is undone, so that it forks no
// more of them. `original`, where it still has that image, spares a closer look at what runs
// another program; else null.
struct CopiesUndone {
  int processes = 0;  // in which something was armed still
  int fields = 0;
  // Left alone, because a session is on them which does not know of all that is armed there. The
  // journal is to be kept for these, too.
  int held = 0;
  int failed = 0;
  absl::Status first_failure;  // names the process

  bool AllDone() const { return held == 0 && failed == 0; }
};
CopiesUndone UndoInCopies(InterpreterFileCache& files, const JournalContents& journal,
                          const TargetProcess* original);

}  // namespace sbump
