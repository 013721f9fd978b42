// Plain values of the target: None, bool, int, float, str, and tuples and lists of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/cpython/types.h"

namespace sbump {

struct Value {
  enum class Kind { kNone, kBool, kInt, kFloat, kStr, kTuple, kList };

  Kind kind = Kind::kNone;
  bool boolean = false;
  int64_t integer = 0;
  double floating = 0;
  std::string text;  // of a tuple: its class, where repr() says it (torch.Size)
  std::vector<Value> items;

  // Of floats their bits: what is no number is the same as before.
  bool operator==(const Value& other) const;
};

Value IntValue(int64_t value);

// As Python's repr() writes it. Of a str, characters beyond ASCII are all taken for printable ones.
std::string Repr(const Value& value);
std::string ReprOfStr(std::string_view text);

// Reads objects of these types and of their subclasses, as the plain value that they hold.
class ValueReader {
 public:
  static constexpr size_t kMostItems = 256;    // in a tuple or list, those within it included
  static constexpr int kDeepest = 4;           // tuples in tuples
  static constexpr size_t kLongestStr = 1024;  // bytes as UTF-8

  // kUnimplemented: the file does not say where it has PyFloat_Type, PyBool_Type and
  // _Py_NoneStruct.
  static absl::StatusOr<ValueReader> Make(const MemoryReader& memory,
                                          const Interpreter& interpreter, Types& types);

  // kUnimplemented: another type, an int of more than 63 bits; kResourceExhausted: too large.
  absl::StatusOr<Value> Read(RemoteAddr object) const;
  bool IsNone(RemoteAddr object) const { return object == none_; }

 private:
  ValueReader(const MemoryReader& memory, const Interpreter& interpreter, Types& types)
      : memory_(&memory), layout_(&interpreter.layout()), types_(&types) {}
  // How much more may be read.
  struct Left {
    size_t items = kMostItems;
    int depth = kDeepest;
  };
  absl::StatusOr<Value> ReadWithin(RemoteAddr object, Left& left) const;
  absl::StatusOr<Value> ReadInt(RemoteAddr object) const;
  absl::StatusOr<Value> ReadStr(RemoteAddr object) const;
  absl::StatusOr<Value> ReadSequence(RemoteAddr object, Value::Kind kind, Left& left) const;

  const MemoryReader* memory_;
  const Layout* layout_;
  Types* types_;
  RemoteAddr float_type_, bool_type_, none_;
};

}  // namespace sbump
