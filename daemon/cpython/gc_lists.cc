#include "daemon/cpython/gc_lists.h"

#include "daemon/cpython/interpreter_state.h"

namespace sbump {
namespace {

constexpr uint64_t kMaxObjects = 50'000'000;
constexpr int kGenerations = 3;

struct GcHead {
  RemoteAddr next;  // low bits of both words are flags (Include/internal/pycore_gc.h)
  RemoteAddr prev;
};

RemoteAddr WithoutFlags(RemoteAddr link) { return RemoteAddr{link.value & ~uint64_t{3}}; }

}  // namespace

absl::StatusOr<GcLists> GcLists::Find(const MemoryReader& memory, const Interpreter& interpreter) {
  const Layout& layout = interpreter.layout();
  GcLists lists;
  const auto add = [&](RemoteAddr generations, RemoteAddr permanent, RemoteAddr collecting) {
    for (int i = 0; i < kGenerations; ++i)
      lists.heads_.push_back(generations + i * kGcGenerationSize);
    lists.heads_.push_back(permanent);
    lists.collecting_.push_back(collecting);
  };
  if (layout.runtime.gc_generations != kAbsent) {  // 3.8: one collector for all interpreters
    add(interpreter.runtime + layout.runtime.gc_generations,
        interpreter.runtime + layout.runtime.gc_permanent,
        interpreter.runtime + layout.runtime.gc_collecting);
    return lists;
  }
  SB_ASSIGN_OR_RETURN(const std::vector<InterpreterState> states,
                      ReadInterpreterStates(memory, interpreter));
  for (const InterpreterState& state : states) {
    add(state.addr + layout.interpreter.gc_generations,
        state.addr + layout.interpreter.gc_permanent,
        state.addr + layout.interpreter.gc_collecting);
  }
  return lists;
}

absl::Status GcLists::CheckIdle(const MemoryReader& memory) const {
  for (RemoteAddr flag : collecting_) {
    SB_ASSIGN_OR_RETURN(int32_t collecting, memory.ReadValue<int32_t>(flag));
    if (collecting != 0) return absl::UnavailableError("a garbage collection is running");
  }
  return absl::OkStatus();
}

absl::Status WalkGcList(const MemoryReader& memory, RemoteAddr head, ListOwner owner,
                        const VisitObject& visit) {
  SB_ASSIGN_OR_RETURN(const GcHead ends, memory.ReadValue<GcHead>(head));
  const RemoteAddr tail = WithoutFlags(ends.prev);
  RemoteAddr before = head;
  RemoteAddr at = WithoutFlags(ends.next);
  for (uint64_t objects = 0; at != head; ++objects) {
    if (!at.Plausible() || objects == kMaxObjects) {
      return absl::DataLossError("a list of the garbage collector is broken");
    }
    struct {
      GcHead links;
      uint64_t refcount;
      RemoteAddr type;
    } object;
    SB_ASSIGN_OR_RETURN(object, memory.ReadValue<decltype(object)>(at));
    if (owner == ListOwner::kRunning && WithoutFlags(object.links.prev) != before)
      return absl::DataLossError("a list of the garbage collector is changing");
    if (!visit(at + kGcHeadSize, object.type)) break;
    const RemoteAddr next = WithoutFlags(object.links.next);
    // Stopped in _PyObject_GC_TRACK (Include/internal/pycore_object.h): the object behind the tail
    // is linked, and has no link of its own yet. The list is whole.
    if (!next && (tail == before || tail == at)) break;
    before = at;
    at = next;
  }
  return absl::OkStatus();
}

}  // namespace sbump
