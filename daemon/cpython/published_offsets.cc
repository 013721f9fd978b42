#include "daemon/cpython/published_offsets.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/interpreter.h"

namespace sbump {
namespace {

// The same in each version; the others are in the layout.
constexpr size_t kVersionWord = 1;
constexpr size_t kFreeThreadedWord = 2;
constexpr size_t kInterpretersHeadWord = 5;
constexpr size_t kNextWord = 8;
constexpr size_t kThreadsHeadWord = 9;
constexpr size_t kWords = 80;
// From code_object.size on.
constexpr size_t kCodeFilename = 1, kCodeName = 2, kCodeQualname = 3, kCodeFirstlineno = 5;

// The state of an interpreter takes 226 kB in 3.15, that of the runtime 347 kB.
constexpr uint64_t kLargestOffset = 4 * 1024 * 1024;

constexpr int kTries = 50;

class Words {
 public:
  static absl::StatusOr<Words> Read(const MemoryReader& memory, RemoteAddr runtime) {
    Words words;
    SB_RETURN_IF_ERROR(memory.Read(runtime, std::as_writable_bytes(std::span(words.words_))));
    if (std::memcmp(words.words_.data(), "xdebugpy", 8) != 0) {
      return absl::DataLossError("_PyRuntime does not begin with the debug offsets' cookie");
    }
    return words;
  }

  uint64_t at(size_t word) const { return words_.at(word); }

  absl::Status Take(size_t word, std::string_view what, int32_t& field) const {
    const uint64_t offset = at(word);
    if (offset > kLargestOffset || offset % sizeof(uint64_t) != 0) {
      return absl::DataLossError(StrCat("the process says that ", what, " is at ", offset));
    }
    field = static_cast<int32_t>(offset);
    return absl::OkStatus();
  }

  absl::Status Compare(size_t word, std::string_view what, int32_t expected) const {
    if (expected == kAbsent || at(word) == static_cast<uint64_t>(expected)) {
      return absl::OkStatus();
    }
    return absl::DataLossError(
        StrCat(what, " is at ", at(word), " in the process but at ", expected,
               " in sbump's table: an interpreter built in a way that sbump does not know"));
  }

 private:
  std::array<uint64_t, kWords> words_;
};

absl::Status TakePlaces(const Words& words, Layout& layout) {
  const auto word = [](int32_t index) { return static_cast<size_t>(index); };
  SB_RETURN_IF_ERROR(words.Take(kInterpretersHeadWord, "runtime.interpreters.head",
                                layout.runtime.interpreters_head));
  SB_RETURN_IF_ERROR(words.Take(kNextWord, "interpreter.next", layout.interpreter.next));
  SB_RETURN_IF_ERROR(
      words.Take(kThreadsHeadWord, "interpreter.threads.head", layout.interpreter.threads_head));
  SB_RETURN_IF_ERROR(words.Take(word(layout.word.gc), "interpreter.gc", layout.interpreter.gc));
  return words.Take(word(layout.word.imports_modules), "interpreter.imports.modules",
                    layout.interpreter.modules);
}

absl::Status CompareFields(const Words& words, const Layout& layout) {
  const auto word = [](int32_t index, size_t further = 0) {
    return static_cast<size_t>(index) + further;
  };
  const struct {
    size_t word;
    std::string_view what;
    int32_t expected;
  } all[] = {
      {word(layout.word.thread_next), "thread.next", layout.thread.next},
      {word(layout.word.thread_interp), "thread.interp", kThreadInterpreter},
      {word(layout.word.thread_current_frame), "thread.current_frame", layout.thread.frame},
      {word(layout.word.frame_executable), "frame.f_executable", layout.frame.code},
      {word(layout.word.frame_instr_ptr), "frame.instr_ptr", layout.frame.prev_instr},
      {word(layout.word.code_size), "sizeof(PyCodeObject)", layout.code.size},
      {word(layout.word.code_size, kCodeFilename), "co_filename", layout.code.co_filename},
      {word(layout.word.code_size, kCodeName), "co_name", layout.code.co_name},
      {word(layout.word.code_size, kCodeQualname), "co_qualname", layout.code.co_qualname},
      {word(layout.word.code_size, kCodeFirstlineno), "co_firstlineno", layout.code.co_firstlineno},
      {word(layout.word.code_adaptive), "co_code_adaptive", layout.code.co_code_adaptive},
      {word(layout.word.tuple_ob_item), "tuple.ob_item", layout.tuple.items},
  };
  for (const auto& one : all) {
    SB_RETURN_IF_ERROR(words.Compare(one.word, one.what, one.expected));
  }
  return absl::OkStatus();
}

// Each neighbour of the list's head points back to it. False also where it cannot be read.
bool IsListHead(const MemoryReader& memory, RemoteAddr head) {
  constexpr uint64_t kFlags = 3;  // low bits of both words (Include/internal/pycore_gc.h)
  constexpr int64_t kPrev = 8;
  const auto follow = [&](RemoteAddr at) -> std::optional<RemoteAddr> {
    absl::StatusOr<uint64_t> link = memory.ReadValue<uint64_t>(at);
    if (!link.ok()) return std::nullopt;
    const RemoteAddr to{*link & ~kFlags};
    return to.Plausible() ? std::optional(to) : std::nullopt;
  };
  const auto next = follow(head), prev = follow(head + kPrev);
  return next && prev && follow(*next + kPrev) == head && follow(*prev) == head;
}

// The youngest generation changes all the time; the others only in a collection.
bool HasLists(const MemoryReader& memory, RemoteAddr generations) {
  return IsListHead(memory, generations + kGcGenerationSize) &&
         IsListHead(memory, generations + 2 * kGcGenerationSize);
}

}  // namespace

absl::Status TakePublishedOffsets(const MemoryReader& memory, RemoteAddr runtime,
                                  const PythonVersion& version, Layout& layout) {
  SB_ASSIGN_OR_RETURN(const Words words, Words::Read(memory, runtime));
  const PythonVersion said = PythonVersionFromHex(static_cast<uint32_t>(words.at(kVersionWord)));
  if (said != version) {
    return absl::DataLossError(StrCat("the debug offsets are those of CPython ", ToString(said),
                                      ", but its file is ", ToString(version)));
  }
  if ((words.at(kFreeThreadedWord) != 0) != layout.free_threaded) {
    return absl::DataLossError("its file says otherwise of whether it is free-threaded");
  }
  SB_RETURN_IF_ERROR(TakePlaces(words, layout));
  return CompareFields(words, layout);
}

absl::Status FindGcLists(const MemoryReader& memory, RemoteAddr interpreter, Layout& layout) {
  const RemoteAddr gc = interpreter + layout.interpreter.gc;
  for (int i = 0; i < kTries; ++i) {
    std::vector<int32_t> found;
    for (int32_t candidate : layout.gc_state.generations) {
      if (candidate != kAbsent && HasLists(memory, gc + candidate)) found.push_back(candidate);
    }
    if (found.empty()) continue;  // the process runs: a list may be changing
    if (found.size() > 1) break;
    layout.interpreter.gc_generations = layout.interpreter.gc + found.front();
    layout.interpreter.gc_permanent = layout.interpreter.gc + layout.gc_state.permanent;
    layout.interpreter.gc_collecting = layout.interpreter.gc + layout.gc_state.collecting;
    return absl::OkStatus();
  }
  return absl::DataLossError(
      "the lists of the garbage collector are not where sbump knows them: an interpreter built in "
      "a way that sbump does not know");
}

}  // namespace sbump
