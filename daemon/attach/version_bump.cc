#include "daemon/attach/version_bump.h"

#include <sys/uio.h>

#include <cerrno>
#include <functional>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr int kVersionShift = 8;  // 3.13 on: the low byte of eval_breaker holds events
constexpr int kVersionBits = 32;  // what _Py_Instrument() compares

constexpr size_t kMaxWordsPerWrite = 1024;  // IOV_MAX

struct Word {
  RemoteAddr addr;
  uint64_t value;
};

// In one system call: a daemon that is killed between two would leave a process whose words
// disagree, and which runs on.
absl::Status WriteWords(pid_t pid, std::vector<Word>& words) {
  if (words.empty()) return absl::OkStatus();
  if (words.size() > kMaxWordsPerWrite) {
    return absl::ResourceExhaustedError(StrCat("pid ", pid, " has ", words.size(),
                                               " thread states; the most is ", kMaxWordsPerWrite));
  }
  std::vector<iovec> local, remote;
  for (Word& word : words) {
    local.push_back({&word.value, sizeof(word.value)});
    remote.push_back({reinterpret_cast<void*>(word.addr.value), sizeof(word.value)});
  }
  const ssize_t n =
      process_vm_writev(pid, local.data(), local.size(), remote.data(), remote.size(), 0);
  if (n == static_cast<ssize_t>(words.size() * sizeof(uint64_t))) return absl::OkStatus();
  return ErrnoStatus(n < 0 ? errno : EIO,
                     StrCat("pid ", pid, ": writing the instrumentation version"));
}

// 3.13 on: the thread's word with the version of `interpreter_word`.
absl::StatusOr<Word> ThreadWord(const MemoryReader& memory, const Layout& layout, RemoteAddr thread,
                                uint64_t interpreter_word) {
  const RemoteAddr addr = thread + layout.thread.eval_breaker;
  SB_ASSIGN_OR_RETURN(uint64_t value, memory.ReadValue<uint64_t>(addr));
  constexpr uint64_t kEvents = (1u << kVersionShift) - 1;
  return Word{addr, (interpreter_word & ~kEvents) | (value & kEvents)};
}

constexpr uint64_t StepOf(const Layout& layout) {
  return layout.thread.eval_breaker == kAbsent ? 1 : uint64_t{1} << kVersionShift;
}

absl::StatusOr<uint64_t> VersionWord(const MemoryReader& memory, const Interpreter& interpreter,
                                     RemoteAddr state) {
  return memory.ReadValue<uint64_t>(state +
                                    interpreter.layout().interpreter.instrumentation_version);
}

using Chooses = std::function<bool(uint64_t version)>;

// The words as they must be when the versions of the chosen interpreters are `step` ahead of now.
absl::StatusOr<std::vector<Word>> WantedWords(
    const MemoryReader& memory, const Interpreter& interpreter, uint64_t step,
    const Chooses& chooses = [](uint64_t) { return true; }) {
  const Layout& layout = interpreter.layout();
  std::vector<Word> words;
  SB_ASSIGN_OR_RETURN(std::vector<InterpreterState> states,
                      ReadInterpreterStates(memory, interpreter));
  for (const InterpreterState& state : states) {
    SB_ASSIGN_OR_RETURN(uint64_t version, VersionWord(memory, interpreter, state.addr));
    if (!chooses(version)) continue;
    const Word own{state.addr + layout.interpreter.instrumentation_version, version + step};
    words.push_back(own);
    if (layout.thread.eval_breaker == kAbsent) continue;
    for (RemoteAddr thread : state.threads) {
      SB_ASSIGN_OR_RETURN(Word word, ThreadWord(memory, layout, thread, own.value));
      words.push_back(word);
    }
  }
  return words;
}

// Those of them that the process does not hold.
absl::StatusOr<std::vector<Word>> WrongWords(const MemoryReader& memory,
                                             const Interpreter& interpreter, uint64_t step) {
  SB_ASSIGN_OR_RETURN(std::vector<Word> words, WantedWords(memory, interpreter, step));
  std::vector<Word> wrong;
  for (const Word& word : words) {
    SB_ASSIGN_OR_RETURN(uint64_t value, memory.ReadValue<uint64_t>(word.addr));
    if (value != word.value) wrong.push_back(word);
  }
  return wrong;
}

bool PublishesToThreads(const Interpreter& interpreter) {
  return interpreter.layout().thread.eval_breaker != kAbsent;
}

}  // namespace

absl::Status BumpInstrumentationVersion(pid_t pid, const MemoryReader& memory,
                                        const Interpreter& interpreter) {
  SB_ASSIGN_OR_RETURN(std::vector<Word> words,
                      WantedWords(memory, interpreter, StepOf(interpreter.layout())));
  for (const Word& word : words) {
    if (word.value >> kVersionBits != 0) {
      return absl::ResourceExhaustedError(
          StrCat("the instrumentation version ", word.value, " of the interpreter is at its end"));
    }
  }
  return WriteWords(pid, words);
}

absl::StatusOr<std::vector<RemoteAddr>> NewInterpreters(const MemoryReader& memory,
                                                        const Interpreter& interpreter) {
  std::vector<RemoteAddr> fresh;
  SB_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> list, ListInterpreters(memory, interpreter));
  for (RemoteAddr state : list) {
    SB_ASSIGN_OR_RETURN(uint64_t version, VersionWord(memory, interpreter, state));
    if (version == 0) fresh.push_back(state);
  }
  return fresh;
}

absl::Status BumpUnusedInterpreters(const MemoryReader& memory, MemoryWriter& writer,
                                    const Interpreter& interpreter, uint64_t until_ns) {
  const Layout& layout = interpreter.layout();
  SB_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> fresh, NewInterpreters(memory, interpreter));
  for (RemoteAddr state : fresh) {
    SB_ASSIGN_OR_RETURN(const RemoteAddr thread,
                        memory.ReadPointer(state + layout.interpreter.threads_head));
    if (thread) continue;
    if (MonotonicNs() >= until_ns) return absl::DeadlineExceededError("it came too late");
    SB_RETURN_IF_ERROR(
        writer.WriteValue(state + layout.interpreter.instrumentation_version, StepOf(layout)));
  }
  return absl::OkStatus();
}

absl::Status BumpNewInterpreters(pid_t pid, const MemoryReader& memory,
                                 const Interpreter& interpreter) {
  SB_ASSIGN_OR_RETURN(std::vector<Word> words,
                      WantedWords(memory, interpreter, StepOf(interpreter.layout()),
                                  [](uint64_t version) { return version == 0; }));
  return WriteWords(pid, words);
}

absl::StatusOr<bool> VersionsAgree(const MemoryReader& memory, const Interpreter& interpreter) {
  if (!PublishesToThreads(interpreter)) return true;
  SB_ASSIGN_OR_RETURN(std::vector<Word> wrong, WrongWords(memory, interpreter, 0));
  for (const Word& word : wrong) {
    // Events come and go while the process runs: only the version counts.
    SB_ASSIGN_OR_RETURN(uint64_t value, memory.ReadValue<uint64_t>(word.addr));
    if (value >> kVersionShift != word.value >> kVersionShift) return false;
  }
  return true;
}

absl::StatusOr<int> RepairInstrumentationVersion(pid_t pid, const MemoryReader& memory,
                                                 const Interpreter& interpreter) {
  if (!PublishesToThreads(interpreter)) return 0;
  SB_ASSIGN_OR_RETURN(std::vector<Word> wrong, WrongWords(memory, interpreter, 0));
  SB_RETURN_IF_ERROR(WriteWords(pid, wrong));
  return static_cast<int>(wrong.size());
}

}  // namespace sbump
