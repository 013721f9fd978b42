#include "daemon/cpython/gc_lists.h"

#include <bit>
#include <deque>

#include "daemon/cpython/interpreter_state.h"

namespace sbump {
namespace {

constexpr uint64_t kMaxObjects = 50'000'000;
constexpr int kGenerations = 3;

struct GcHead {
  RemoteAddr next;  // low bits of both words are flags (Include/internal/pycore_gc.h)
  RemoteAddr prev;
};

struct GcObject {
  GcHead links;
  uint64_t refcount;
  RemoteAddr type;
};

RemoteAddr WithoutFlags(RemoteAddr link) { return RemoteAddr{link.value & ~uint64_t{3}}; }

// Finds that a list has come round to an object again: Brent's algorithm, no memory of the others.
class CircleFinder {
 public:
  // `objects`: how many came before `at`.
  bool ComesAgain(RemoteAddr at, uint64_t objects) {
    const bool comes_again = mark_ && at == mark_;
    if (std::has_single_bit(objects)) mark_ = at;
    return comes_again;
  }
  // What was seen may be seen again.
  void Forget() { mark_ = RemoteAddr{}; }

 private:
  RemoteAddr mark_;
};

// Of a list that changes meanwhile. New objects come in at its end; others leave it anywhere, and
// their memory may come in again.
class RunningWalk {
 public:
  RunningWalk(const MemoryReader& memory, RemoteAddr head, const VisitObject& visit,
              const MemoryReader* fresh)
      : memory_(&memory), head_(head), visit_(visit), fresh_(fresh) {}

  absl::Status Run() {
    SB_RETURN_IF_ERROR(Begin());
    for (uint64_t objects = 0; at_ != head_; ++objects) {
      // A collection takes objects to the list of the next generation: from one of them on, this
      // walk would be on that list, and would not come to this one's head again.
      if (objects == kMaxObjects || circle_.ComesAgain(at_, objects)) return Changing();
      if (!at_ && IsAtGrowingEnd()) break;
      const absl::StatusOr<GcObject> object =
          at_.Plausible() ? memory_->ReadValue<GcObject>(at_) : Changing();
      if (!object.ok() || WithoutFlags(object->links.prev) != before_) {
        if (absl::IsDeadlineExceeded(object.status())) return object.status();
        SB_RETURN_IF_ERROR(GoBack());
        continue;
      }
      if (!visit_(at_ + kGcHeadSize, object->type)) break;
      Step(WithoutFlags(object->links.next));
    }
    return absl::OkStatus();
  }

 private:
  static constexpr size_t kTrail = 1024;
  static constexpr int kMostReturns = 20'000;
  struct Visited {
    RemoteAddr at, before;
  };

  static absl::Status Changing() {
    return absl::DataLossError("a list of the garbage collector is changing");
  }

  absl::Status Begin() {
    SB_ASSIGN_OR_RETURN(const GcHead ends, memory_->ReadValue<GcHead>(head_));
    before_ = head_;
    at_ = WithoutFlags(ends.next);
    return absl::OkStatus();
  }

  void Step(RemoteAddr next) {
    trail_.push_back({at_, before_});
    if (trail_.size() > kTrail) {
      trail_.pop_front();
      has_beginning_ = false;
    }
    before_ = at_;
    at_ = next;
  }

  // A thread is in _PyObject_GC_TRACK (Include/internal/pycore_object.h): the object behind the
  // tail is linked, and has no link of its own yet. The list is whole.
  bool IsAtGrowingEnd() const {
    const absl::StatusOr<GcHead> ends =
        (fresh_ == nullptr ? memory_ : fresh_)->ReadValue<GcHead>(head_);
    if (!ends.ok() || trail_.empty()) return false;
    const RemoteAddr tail = WithoutFlags(ends->prev);
    return tail == before_ || tail == trail_.back().before;
  }

  // To the last one that is where it was: its neighbour is still the one that it had. What left the
  // list and came in again has another.
  absl::Status GoBack() {
    if (fresh_ == nullptr || ++returns_ > kMostReturns) return Changing();
    memory_ = fresh_;
    circle_.Forget();
    for (; !trail_.empty(); trail_.pop_back()) {
      const Visited& last = trail_.back();
      const absl::StatusOr<GcHead> links = fresh_->ReadValue<GcHead>(last.at);
      if (absl::IsDeadlineExceeded(links.status())) return links.status();
      if (!links.ok() || WithoutFlags(links->prev) != last.before) continue;
      before_ = last.at;
      at_ = WithoutFlags(links->next);
      return absl::OkStatus();
    }
    return has_beginning_ ? Begin() : Changing();
  }

  const MemoryReader* memory_;
  const RemoteAddr head_;
  const VisitObject& visit_;
  const MemoryReader* const fresh_;
  RemoteAddr before_, at_;
  CircleFinder circle_;
  std::deque<Visited> trail_;
  bool has_beginning_ = true;  // of the list: in the trail
  int returns_ = 0;
};

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
                        const VisitObject& visit, const MemoryReader* fresh) {
  if (owner == ListOwner::kRunning) return RunningWalk(memory, head, visit, fresh).Run();
  SB_ASSIGN_OR_RETURN(const GcHead ends, memory.ReadValue<GcHead>(head));
  const RemoteAddr tail = WithoutFlags(ends.prev);
  RemoteAddr before = head;
  RemoteAddr at = WithoutFlags(ends.next);
  CircleFinder circle;
  for (uint64_t objects = 0; at != head; ++objects) {
    if (!at.Plausible() || objects == kMaxObjects || circle.ComesAgain(at, objects)) {
      return absl::DataLossError("a list of the garbage collector is broken");
    }
    SB_ASSIGN_OR_RETURN(const GcObject object, memory.ReadValue<GcObject>(at));
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
