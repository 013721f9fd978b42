// Where calls of modules begin, and end where they are followed: a place or two in the
// interpreter's own text; and operators, where those are asked for.
//
// Thread: the session's own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/attach/journal.h"
#include "daemon/attach/programs.h"
#include "daemon/cpython/interpreter.h"
#include "daemon/cpython/sites.h"
#include "daemon/native/resolve.h"
#include "daemon/session/attach_spec.h"
#include "daemon/session/operator_probes.h"
#include "daemon/torch/read_modules.h"

namespace sbump {

class ModuleProbes {
 public:
  // All that is given must outlive it.
  ModuleProbes(const TargetProcess& process, const MemoryReader& memory, const AttachSpec& spec)
      : process_(process), memory_(memory), spec_(spec), operators_(process, memory) {}

  // Reads only. kNotFound: the class of the modules is not there (yet). kUnimplemented: its calls
  // cannot be seen.
  absl::Status Find(const Interpreter& interpreter, const ModuleQuery& query);
  bool found() const { return !probes_.empty(); }

  // What was found, once it was.
  const std::string& root_type() const { return root_type_; }
  RemoteAddr call() const { return call_; }  // the class's tp_call
  const SavedRegisters& saved() const { return saved_; }
  bool single_stepped() const { return !probes_.empty() && !probes_.back().target.site.emulated; }
  const OperatorProbes& operators() const { return operators_; }

  // On failure some are open: Close().
  absl::Status Open(Programs& programs, LinkKeeper& keeper, Journal& journal);
  void Close(Programs& programs);
  bool open() const { return !links_.empty(); }
  // That it may come to, without those of operators.
  size_t most_links() const;
  // Once they are gone: bytes at their places that are not those of the file.
  uint32_t CountTextBytesChanged() const;

 private:
  struct Probe {
    NativeTarget target;
    std::optional<sb_span_site> end;  // calls end here; else they begin
  };
  absl::StatusOr<std::vector<Probe>> ProbesAt(const Interpreter& interpreter,
                                              const ModuleQuery& query,
                                              std::span<const uint64_t> vaddrs) const;
  absl::StatusOr<std::vector<Probe>> FindAll(const Interpreter& interpreter,
                                             const ModuleQuery& query, uint64_t vaddr);
  ProgramKind ProgramOf(const Probe& probe, const Programs& programs) const;
  absl::Status OpenOne(const Probe& probe, Programs& programs, LinkKeeper& keeper);

  const TargetProcess& process_;
  const MemoryReader& memory_;
  const AttachSpec& spec_;

  std::string root_type_;
  RemoteAddr call_;
  SavedRegisters saved_{};     // where calls begin
  std::vector<Probe> probes_;  // that of the begins is the last
  std::vector<uint64_t> links_;
  OperatorProbes operators_;
};

}  // namespace sbump
