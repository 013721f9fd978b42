// Types (PyTypeObject) of the target: what decides how their instances are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/cpython/interpreter.h"

namespace sbump {

// Include/object.h
inline constexpr uint64_t kTypeInlineValues = uint64_t{1} << 2;
inline constexpr uint64_t kTypeManagedDict = uint64_t{1} << 4;
inline constexpr uint64_t kTypeHeapType = uint64_t{1} << 9;
inline constexpr uint64_t kTypeIsInt = uint64_t{1} << 24;
inline constexpr uint64_t kTypeIsList = uint64_t{1} << 25;
inline constexpr uint64_t kTypeIsTuple = uint64_t{1} << 26;
inline constexpr uint64_t kTypeIsStr = uint64_t{1} << 28;
inline constexpr uint64_t kTypeIsDict = uint64_t{1} << 29;
inline constexpr uint64_t kTypeIsType = uint64_t{1} << 31;

struct TypeObject {
  RemoteAddr addr;
  std::string name;  // tp_name: of a class, its __name__
  std::string qualname;
  std::string module;  // __module__; empty: not of a class, or not a str
  uint64_t flags = 0;
  int64_t basicsize = 0;
  int64_t dictoffset = 0;
  RemoteAddr call;                      // tp_call
  RemoteAddr cached_keys;               // of a class
  std::vector<RemoteAddr> mro;          // itself first
  std::vector<std::string> full_names;  // of each in `mro`: "torch.nn.modules.linear.Linear"

  bool Is(uint64_t flag) const { return (flags & flag) != 0; }
  bool IsA(RemoteAddr type) const;
  bool IsA(std::string_view full_name) const;
  const std::string& full_name() const { return full_names.front(); }
};

// Reads each type once. For one look at a process: a type may be gone later. Not for several
// threads. `memory` and `interpreter` must outlive it.
class Types {
 public:
  Types(const MemoryReader& memory, const Interpreter& interpreter)
      : memory_(memory), interpreter_(interpreter) {}

  static constexpr size_t kMost = 100'000;
  static constexpr size_t kLongestMro = 256;
  static constexpr size_t kLongestName = 1024;
  // Of names, those of bases included.
  static constexpr size_t kMostBytes = 64 << 20;

  // Stays where it is. kDataLoss: no type; also the next time. kResourceExhausted: too many, or too
  // many names of bases, and so it stays.
  absl::StatusOr<const TypeObject*> Find(RemoteAddr type);
  absl::StatusOr<const TypeObject*> Of(RemoteAddr object);
  // The same error, once there is one.
  absl::Status CheckRoom() const;

 private:
  struct Names {
    std::string name, qualname, module;
    std::string full() const { return module.empty() ? qualname : module + "." + qualname; }
  };
  absl::StatusOr<TypeObject> Read(RemoteAddr type);
  absl::StatusOr<Names> ReadNames(RemoteAddr type);
  absl::StatusOr<std::string> ReadModule(RemoteAddr type);

  const MemoryReader& memory_;
  const Interpreter& interpreter_;
  std::unordered_map<uint64_t, std::optional<TypeObject>> types_;  // empty: none
  std::unordered_map<uint64_t, Names> names_;
  size_t bytes_ = 0;
  bool is_full_ = false;
};

}  // namespace sbump
