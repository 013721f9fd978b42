#include "daemon/attach/version_bump.h"

#include <sys/uio.h>

#include <cerrno>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr int kVersionShift = 8;            // 3.13: the low byte of eval_breaker holds events
constexpr size_t kMaxWordsPerWrite = 1024;  // IOV_MAX

struct Word {
  RemoteAddr addr;
  uint64_t value;
};

absl::Status WriteWords(pid_t pid, std::vector<Word>& words) {
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

// 3.13: the thread's word with the version of `interpreter_word`.
absl::StatusOr<Word> ThreadWord(const MemoryReader& memory, const Layout& layout, RemoteAddr thread,
                                uint64_t interpreter_word) {
  const RemoteAddr addr = thread + layout.thread.eval_breaker;
  SB_ASSIGN_OR_RETURN(uint64_t value, memory.ReadValue<uint64_t>(addr));
  constexpr uint64_t kEvents = (1u << kVersionShift) - 1;
  return Word{addr, (interpreter_word & ~kEvents) | (value & kEvents)};
}

// The words as they must be when the interpreters' versions are `step` ahead of now.
absl::StatusOr<std::vector<Word>> WantedWords(const MemoryReader& memory,
                                              const Interpreter& interpreter, uint64_t step) {
  const Layout& layout = interpreter.layout();
  std::vector<Word> words;
  SB_ASSIGN_OR_RETURN(std::vector<InterpreterState> states,
                      ReadInterpreterStates(memory, interpreter));
  for (const InterpreterState& state : states) {
    const RemoteAddr addr = state.addr + layout.interpreter.instrumentation_version;
    SB_ASSIGN_OR_RETURN(uint64_t version, memory.ReadValue<uint64_t>(addr));
    const Word own{addr, version + step};
    words.push_back(own);
    if (layout.thread.eval_breaker == kAbsent) continue;
    for (RemoteAddr thread : state.threads) {
      SB_ASSIGN_OR_RETURN(Word word, ThreadWord(memory, layout, thread, own.value));
      words.push_back(word);
    }
  }
  return words;
}

absl::Status Verify(pid_t pid, const MemoryReader& memory, const std::vector<Word>& words) {
  for (const Word& word : words) {
    SB_ASSIGN_OR_RETURN(uint64_t value, memory.ReadValue<uint64_t>(word.addr));
    if (value != word.value) {
      return absl::DataLossError(
          StrCat("pid ", pid, ": the instrumentation version did not stay as written"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status BumpInstrumentationVersion(pid_t pid, const MemoryReader& memory,
                                        const Interpreter& interpreter) {
  const uint64_t step =
      interpreter.layout().thread.eval_breaker == kAbsent ? 1 : uint64_t{1} << kVersionShift;
  SB_ASSIGN_OR_RETURN(std::vector<Word> words, WantedWords(memory, interpreter, step));
  absl::Status status = WriteWords(pid, words);
  if (status.ok()) status = Verify(pid, memory, words);
  if (!status.ok()) RepairInstrumentationVersion(pid, memory, interpreter).IgnoreError();
  return status;
}

absl::StatusOr<int> RepairInstrumentationVersion(pid_t pid, const MemoryReader& memory,
                                                 const Interpreter& interpreter) {
  if (interpreter.layout().thread.eval_breaker == kAbsent) return 0;
  SB_ASSIGN_OR_RETURN(std::vector<Word> words, WantedWords(memory, interpreter, 0));
  std::vector<Word> wrong;
  for (const Word& word : words) {
    SB_ASSIGN_OR_RETURN(uint64_t value, memory.ReadValue<uint64_t>(word.addr));
    if (value != word.value) wrong.push_back(word);
  }
  if (wrong.empty()) return 0;
  SB_RETURN_IF_ERROR(WriteWords(pid, wrong));
  return static_cast<int>(wrong.size());
}

}  // namespace sbump
