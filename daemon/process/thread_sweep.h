// Seizes and interrupts every thread of a process, and waits until all stand still. Private to
// ptrace_stop.cc.
#pragma once

#include <dirent.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/process/seized_thread.h"
#include "daemon/process/target_process.h"

namespace sbump {

// Lives on the one thread that traces: ptrace(2) calls belong to the thread that seized.
class ThreadSweep {
 public:
  ThreadSweep(const TargetProcess& process, uint64_t deadline_ns);

  // As PtraceStop::StopAll(), but leaves what was seized to the caller: DetachAll(), then the end
  // of the thread.
  absl::Status StopAll();
  // Of this process: seized by this thread before. To be called first.
  void Adopt(SeizedThread thread, uint64_t since_ns);
  // Lets go of every thread that stands still, with the signal it was about to take. The rest (a
  // thread that has not stopped yet, or is dying) cannot be detached by a call; the kernel lets it
  // go when the tracing thread ends.
  void DetachAll();

  size_t thread_count() const { return threads_.size(); }
  // After StopAll().
  bool IsNewborn() const;
  std::vector<uint64_t> InstructionPointers() const;
  uint64_t stopped_since_ns() const { return stopped_since_ns_; }

 private:
  enum class Seized { kYes, kGone };

  absl::Status OpenTaskDir();
  absl::StatusOr<std::vector<pid_t>> ListThreads();
  // True when every listed thread was known already.
  absl::StatusOr<bool> SeizeNew();
  absl::StatusOr<Seized> Seize(pid_t tid);
  absl::Status WhySeizeFailed(pid_t tid, int error_number) const;
  // Once round the threads that have not stopped; true when there are none left.
  bool CollectStops();
  absl::Status WaitForStops();
  absl::Status CheckDeadline() const;

  struct DirCloser {
    void operator()(DIR* dir) const { closedir(dir); }
  };

  const TargetProcess& process_;
  const uint64_t deadline_ns_;
  uint64_t stopped_since_ns_ = 0;
  std::unique_ptr<DIR, DirCloser> task_dir_;
  std::map<pid_t, SeizedThread> threads_;  // what we trace
};

}  // namespace sbump
