// Which registers hold the same value, without knowing the value: numbers that stand for values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "daemon/text/disassembly.h"

namespace sbump {

class RegisterValues {
 public:
  // Loads of this 64-bit field count as one value per base value: the field does not change
  // meanwhile.
  explicit RegisterValues(int64_t constant_field);

  int Of(RegisterNumber reg) const { return values_.at(static_cast<size_t>(reg)); }
  // The register was loaded from the constant field of something.
  bool IsLoaded(RegisterNumber reg) const;
  // A call is not modelled: nothing may be asked after one.
  void Apply(const Instruction& instruction);

 private:
  int ResultOf(const Instruction& instruction);

  int64_t constant_field_;
  int next_ = kRegisterCount;
  std::array<int, kRegisterCount> values_;
  std::map<int, int> loaded_;  // value of the base -> value of the field
};

}  // namespace sbump
