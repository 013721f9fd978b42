#include "daemon/cpython/interpreter_state.h"

#include "absl/strings/cord.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr size_t kMaxInterpreters = 64;
constexpr size_t kMaxThreads = 100'000;
constexpr char kNotStartedPayload[] = "sbump/not-started";

absl::StatusOr<std::vector<RemoteAddr>> ReadThreads(const MemoryReader& memory,
                                                    const Layout& layout, RemoteAddr interpreter) {
  std::vector<RemoteAddr> threads;
  SB_ASSIGN_OR_RETURN(RemoteAddr thread,
                      memory.ReadPointer(interpreter + layout.interpreter.threads_head));
  while (thread) {
    if (!thread.Plausible() || threads.size() == kMaxThreads) {
      return absl::DataLossError("the interpreter's list of threads is broken");
    }
    SB_ASSIGN_OR_RETURN(RemoteAddr owner, memory.ReadPointer(thread + kThreadInterpreter));
    if (owner != interpreter) {
      return absl::DataLossError(StrCat("thread state ", ToString(thread),
                                        " does not point back to interpreter ",
                                        ToString(interpreter)));
    }
    threads.push_back(thread);
    SB_ASSIGN_OR_RETURN(thread, memory.ReadPointer(thread + layout.thread.next));
  }
  return threads;
}

absl::Status NotStarted() {
  absl::Status status = absl::FailedPreconditionError(
      "the interpreter is not initialised (yet, or any more): no PyInterpreterState; try again in "
      "a moment");
  status.SetPayload(kNotStartedPayload, absl::Cord());
  return status;
}

}  // namespace

bool SaysNotStarted(const absl::Status& status) {
  return status.GetPayload(kNotStartedPayload).has_value();
}

absl::StatusOr<std::vector<RemoteAddr>> ListInterpreters(const MemoryReader& memory,
                                                         const Interpreter& interpreter) {
  const Layout& layout = interpreter.layout();
  std::vector<RemoteAddr> list;
  SB_ASSIGN_OR_RETURN(RemoteAddr next,
                      memory.ReadPointer(interpreter.runtime + layout.runtime.interpreters_head));
  while (next) {
    if (!next.Plausible() || list.size() == kMaxInterpreters) {
      return absl::DataLossError("the runtime's list of interpreters is broken");
    }
    list.push_back(next);
    SB_ASSIGN_OR_RETURN(next, memory.ReadPointer(next + layout.interpreter.next));
  }
  if (list.empty()) return NotStarted();
  return list;
}

absl::StatusOr<std::vector<RemoteAddr>> ListModuleDicts(const MemoryReader& memory,
                                                        const Interpreter& interpreter) {
  std::vector<RemoteAddr> dicts;
  SB_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> list, ListInterpreters(memory, interpreter));
  for (RemoteAddr addr : list) {
    SB_ASSIGN_OR_RETURN(RemoteAddr modules,
                        memory.ReadPointer(addr + interpreter.layout().interpreter.modules));
    if (modules) dicts.push_back(modules);
  }
  return dicts;
}

absl::StatusOr<std::vector<InterpreterState>> ReadInterpreterStates(
    const MemoryReader& memory, const Interpreter& interpreter) {
  const Layout& layout = interpreter.layout();
  std::vector<InterpreterState> states;
  SB_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> list, ListInterpreters(memory, interpreter));
  for (RemoteAddr addr : list) {
    InterpreterState state{.addr = addr};
    SB_ASSIGN_OR_RETURN(state.threads, ReadThreads(memory, layout, addr));
    SB_ASSIGN_OR_RETURN(state.modules, memory.ReadPointer(addr + layout.interpreter.modules));
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace sbump
