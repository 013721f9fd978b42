#include "daemon/torch/module_roots.h"

#include <unordered_set>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

absl::StatusOr<std::vector<RemoteAddr>> FindModules(const MemoryReader& memory,
                                                    const Interpreter& interpreter, ListOwner owner,
                                                    ModuleReader& reader,
                                                    const MemoryReader* fresh) {
  std::vector<RemoteAddr> modules;
  std::unordered_set<uint64_t> seen;
  SB_ASSIGN_OR_RETURN(const GcLists lists, GcLists::Find(memory, interpreter));
  SB_RETURN_IF_ERROR(lists.CheckIdle(memory));
  const auto visit = [&](RemoteAddr object, RemoteAddr type) {
    if (reader.IsLiveModule(object, type) && seen.insert(object.value).second)
      modules.push_back(object);
    return modules.size() < ModuleReader::kMostModules;
  };
  for (RemoteAddr head : lists.heads())
    SB_RETURN_IF_ERROR(WalkGcList(memory, head, owner, visit, fresh));
  // In one that ran in between, an object may have gone from one list to another.
  SB_RETURN_IF_ERROR(lists.CheckIdle(fresh == nullptr ? memory : *fresh));
  return modules;
}

}  // namespace

absl::StatusOr<std::vector<RemoteAddr>> FindModuleRoots(const MemoryReader& memory,
                                                        const Interpreter& interpreter,
                                                        ListOwner owner, ModuleReader& reader,
                                                        const MemoryReader* fresh) {
  if (interpreter.layout().free_threaded) {
    return absl::UnimplementedError(
        "a free-threaded build keeps no list of its objects: its modules cannot be found");
  }
  SB_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> modules,
                      FindModules(memory, interpreter, owner, reader, fresh));
  std::unordered_set<uint64_t> held;
  for (RemoteAddr module : modules) {
    const auto children = reader.Children(module);
    // One that is being made has no attributes yet, and one whose children are not Python's has
    // none that can be held.
    if (!children.ok()) continue;
    for (const Attribute& child : *children) {
      if (child.value != module) held.insert(child.value.value);
    }
  }
  std::vector<RemoteAddr> roots;
  for (RemoteAddr module : modules) {
    if (!held.contains(module.value)) roots.push_back(module);
  }
  if (roots.empty() && !modules.empty()) {
    return absl::FailedPreconditionError(
        StrCat("it has ", modules.size(),
               " instances, but all of them are held by others (by attributes that lead back to a "
               "parent, say): which of them is a root cannot be told"));
  }
  return roots;
}

}  // namespace sbump
