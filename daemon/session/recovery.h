// What a daemon does first: undo what a killed predecessor left armed, from the journals in the
// state directory.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

#include "daemon/cpython/interpreter.h"

namespace sbump {

struct RecoveryResult {
  int processes = 0;  // whose fields were undone or found clean
  int gone = 0;       // ended, or another process has the pid now
  int fields_restored = 0;
  int failed = 0;  // journals kept for the next try
};

// Journals that cannot be acted on are kept and logged; broken ones are set aside with the suffix
// ".broken".
RecoveryResult RecoverJournals(const std::string& state_dir, InterpreterFileCache& files);

// The same for the journals of processes that no session holds. Silent where nothing can be done
// yet; what is broken, or never became a journal, is left to the next daemon.
void RetryRecovery(const std::string& state_dir, InterpreterFileCache& files);

// Of these processes only: at the end of their session, which held what they forked. (Where the
// disk was full, the journal does not say that its own process is undone.) Takes little more than 5
// s.
void RecoverMembers(const std::string& state_dir, const std::set<pid_t>& pids,
                    InterpreterFileCache& files);

// The same for one process, whose lock the caller holds: before a new session begins its journal.
absl::Status RecoverHeldProcess(const std::string& state_dir, const TargetProcess& process,
                                RemoteMemory& memory, InterpreterFileCache& files);

}  // namespace sbump
