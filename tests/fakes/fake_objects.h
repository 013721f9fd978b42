// Classes and their instances in a FakePython, laid out as the version lays them out.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/cpython/types.h"
#include "tests/fakes/fake_python.h"

namespace sbump {

// Where an instance keeps its attributes.
enum class AttributePlace {
  kDict,       // a dict of its own
  kSplitDict,  // a dict that shares its class's keys
  kValues,     // no dict was made: values beside the object (3.11 on; before, as kSplitDict)
};

class FakeObjects {
 public:
  explicit FakeObjects(int minor);

  FakePython& python() { return python_; }
  FakeMemory& memory() { return python_.memory(); }
  const Layout& layout() const { return python_.layout(); }
  // As FakePython's, with a file that has the symbols of builtin types.
  const Interpreter& interpreter() const { return interpreter_; }

  // `bases`: its method resolution order without itself.
  RemoteAddr NewClass(std::string_view module, std::string_view qualname,
                      const std::vector<RemoteAddr>& bases = {}, uint64_t flags = 0);
  using Attributes = std::vector<std::pair<std::string, RemoteAddr>>;
  // Known to the collector.
  RemoteAddr NewInstance(RemoteAddr type, const Attributes& attributes,
                         AttributePlace place = AttributePlace::kDict, int generation = 2);
  void Free(RemoteAddr instance);  // what is left of one: its reference count is 0

  RemoteAddr None() const { return none_; }
  RemoteAddr Bool(bool value);
  RemoteAddr Int(int64_t value);
  RemoteAddr Float(double value);
  RemoteAddr Str(std::string_view text);
  RemoteAddr Tuple(const std::vector<RemoteAddr>& items);
  RemoteAddr List(const std::vector<RemoteAddr>& items);
  RemoteAddr Dict(const Attributes& items);
  // Into sys.modules, beside those that are there.
  void Import(std::string_view module, const Attributes& members);

 private:
  void MakeType(RemoteAddr type, std::string_view name, uint64_t flags);
  RemoteAddr NewObject(RemoteAddr type, uint64_t size);
  void PutValues(RemoteAddr values, const Attributes& attributes);
  RemoteAddr SharedKeys(RemoteAddr type, const Attributes& attributes);
  FakePython::Items ItemsOf(const Attributes& attributes);

  FakePython python_;
  Interpreter interpreter_;
  RemoteAddr int_type_, bool_type_, float_type_, str_type_, list_type_, none_type_, none_;
  FakePython::Items modules_;
};

}  // namespace sbump
