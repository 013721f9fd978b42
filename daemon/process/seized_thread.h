// One thread of another process that this one traces (PTRACE_SEIZE), and stops by PTRACE_INTERRUPT.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace sbump {

// ptrace(2) calls belong to the thread that seized: made, used and destroyed there. What is not
// detached, the kernel lets go when that thread ends.
class SeizedThread {
 public:
  enum class State { kRunning, kStopped, kEnded };

  // Seizes and interrupts. 0, or an errno: ESRCH (no such thread), EPERM (someone traces it, or the
  // right is missing).
  static int Seize(pid_t tid);

  explicit SeizedThread(pid_t tid) : tid_(tid) {}  // was seized

  pid_t tid() const { return tid_; }
  // Takes what wait(2) has for it, without waiting. One that has ended must be looked at, or its
  // process never goes.
  State Look();
  State state() const { return state_; }
  // It is stopped, and has done nothing yet since the fork or clone that made it.
  bool IsNewborn() const;
  // Where it goes on; 0 where it is not stopped, or was killed meanwhile.
  uint64_t InstructionPointer() const;
  // Lets it go, with the signal that it was about to take. False where it is not stopped, or was
  // killed meanwhile: it cannot be detached by a call, and will be seen to end.
  bool Detach();

 private:
  pid_t tid_;
  State state_ = State::kRunning;
  int pending_signal_ = 0;  // taken from a signal-delivery-stop; 0: none
};

}  // namespace sbump
