// The lists on which CPython's garbage collector has the objects that can be part of a cycle. A
// free-threaded build has none.
#pragma once

#include <functional>
#include <vector>

#include "daemon/cpython/interpreter.h"

namespace sbump {

// Of all interpreters of the process: each generation, and the permanent one (gc.freeze()).
class GcLists {
 public:
  static absl::StatusOr<GcLists> Find(const MemoryReader& memory, const Interpreter& interpreter);

  const std::vector<RemoteAddr>& heads() const { return heads_; }
  // kUnavailable while a collection runs: objects are on a list of its own then.
  absl::Status CheckIdle(const MemoryReader& memory) const;

 private:
  std::vector<RemoteAddr> heads_;
  std::vector<RemoteAddr> collecting_;  // flags (int32)
};

// False: enough was seen.
using VisitObject = std::function<bool(RemoteAddr object, RemoteAddr type)>;

enum class ListOwner {
  kStopped,
  kRunning,  // each link must lead back, as in a list that is whole; one that is not may have no
             // end
};

// Each object on the list, in the list's order. kDataLoss: the list is broken (one that comes round
// without an end is seen after at most a few rounds), as it may look for a moment where the process
// runs. At most 50 million objects.
//
// `fresh` (of kRunning): reads anew what `memory` may have read before, to go on where the list has
// changed. What is on the list all the while is seen; an object may be seen twice. A process that
// works puts objects on its youngest list, and takes them off, all the time.
absl::Status WalkGcList(const MemoryReader& memory, RemoteAddr head, ListOwner owner,
                        const VisitObject& visit, const MemoryReader* fresh = nullptr);

}  // namespace sbump
