// Machine code in named pieces, so that a test can change one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/cpython/fake_elf.h"

namespace sbump {

class FakeCode {
 public:
  FakeCode(uint64_t vaddr, std::initializer_list<std::pair<std::string, std::string>> pieces)
      : vaddr_(vaddr), pieces_(pieces) {}

  // Aborts on a name that is not there.
  FakeCode& Set(std::string_view name, std::string hex) {
    pieces_.at(IndexOf(name)).second = std::move(hex);
    return *this;
  }
  FakeCode& Prepend(std::string_view name, const std::string& hex) {
    return Set(name, hex + " " + pieces_.at(IndexOf(name)).second);
  }
  // `opcode` (e8 call, e9 jmp) with a rel32 to `target` in the place of the piece; to be set after
  // all others.
  FakeCode& SetBranch(std::string_view name, const std::string& opcode, uint64_t target) {
    Set(name, opcode + " 00 00 00 00");
    const auto distance = static_cast<uint32_t>(target - (AddressOf(name) + 5));
    std::string hex = opcode;
    for (int shift = 0; shift < 32; shift += 8) {
      constexpr char kDigits[] = "0123456789abcdef";
      const uint32_t byte = distance >> shift & 0xFF;
      hex += {' ', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    return Set(name, hex);
  }

  uint64_t vaddr() const { return vaddr_; }
  uint64_t AddressOf(std::string_view name) const {
    uint64_t at = vaddr_;
    for (size_t i = 0; i < IndexOf(name); ++i) at += Hex(pieces_[i].second).size();
    return at;
  }
  void PutInto(FakeElf& fake) const {
    std::string all;
    for (const auto& [name, hex] : pieces_) all += hex + " ";
    fake.PutCode(vaddr_, Hex(all));
  }

 private:
  size_t IndexOf(std::string_view name) const {
    size_t i = 0;
    while (i < pieces_.size() && pieces_[i].first != name) ++i;
    return i;
  }

  uint64_t vaddr_;
  std::vector<std::pair<std::string, std::string>> pieces_;
};

}  // namespace sbump
