#include "daemon/torch/module_roots.h"

#include <unordered_set>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

struct Found {
  std::vector<RemoteAddr> modules, callables;
};

absl::StatusOr<Found> FindAll(const MemoryReader& memory, const Interpreter& interpreter,
                              ListOwner owner, ModuleReader& reader, CallableTypes& callables,
                              const MemoryReader* fresh) {
  Found found;
  std::unordered_set<uint64_t> seen;
  SB_ASSIGN_OR_RETURN(const GcLists lists, GcLists::Find(memory, interpreter));
  SB_RETURN_IF_ERROR(lists.CheckIdle(memory));
  const auto visit = [&](RemoteAddr object, RemoteAddr type) {
    if (reader.IsLiveModule(object, type)) {
      if (seen.insert(object.value).second) found.modules.push_back(object);
    } else if (found.callables.size() < ModuleReader::kMostModules &&
               callables.IsLiveCallable(object, type)) {
      if (seen.insert(object.value).second) found.callables.push_back(object);
    }
    return found.modules.size() < ModuleReader::kMostModules;
  };
  for (RemoteAddr head : lists.heads()) {
    const absl::Status walked = WalkGcList(memory, head, owner, visit, fresh);
    if (owner == ListOwner::kRunning && absl::IsDataLoss(walked))
      return absl::UnavailableError(walked.message());
    SB_RETURN_IF_ERROR(walked);
  }
  // In one that ran in between, an object may have gone from one list to another.
  SB_RETURN_IF_ERROR(lists.CheckIdle(fresh == nullptr ? memory : *fresh));
  return found;
}

}  // namespace

absl::StatusOr<ModuleRoots> FindModuleRoots(const MemoryReader& memory,
                                            const Interpreter& interpreter, ListOwner owner,
                                            ModuleReader& reader, CallableTypes& callables,
                                            const MemoryReader* fresh) {
  if (interpreter.layout().free_threaded) {
    return absl::UnimplementedError(
        "a free-threaded build keeps no list of its objects: its modules cannot be found");
  }
  SB_ASSIGN_OR_RETURN(Found found, FindAll(memory, interpreter, owner, reader, callables, fresh));
  const std::vector<RemoteAddr>& modules = found.modules;
  std::unordered_set<uint64_t> held;
  for (RemoteAddr module : modules) {
    const auto children = reader.Children(module);
    // What it holds would all be taken for roots.
    if (absl::IsFailedPrecondition(children.status())) return children.status();
    // One that is being made has no attributes yet, and one whose children are not Python's has
    // none that can be held.
    if (!children.ok()) continue;
    for (const Attribute& child : *children) {
      if (child.value != module) held.insert(child.value.value);
    }
  }
  ModuleRoots all{.callables = std::move(found.callables)};
  for (RemoteAddr module : modules) {
    if (!held.contains(module.value)) all.roots.push_back(module);
  }
  if (all.roots.empty() && !modules.empty()) {
    return absl::FailedPreconditionError(
        StrCat("it has ", modules.size(),
               " instances, but all of them are held by others (by attributes that lead back to a "
               "parent, say): which of them is a root cannot be told"));
  }
  return all;
}

}  // namespace sbump
