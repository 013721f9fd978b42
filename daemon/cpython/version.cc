#include "daemon/cpython/version.h"

#include <string_view>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr int kFinal = 0xF;

std::string_view LevelLetters(int release_level) {
  switch (release_level) {
    case 0xA:
      return "a";
    case 0xB:
      return "b";
    case 0xC:
      return "rc";
    default:
      return "?";
  }
}

}  // namespace

PythonVersion PythonVersionFromHex(uint32_t hex) {
  return {.major = static_cast<int>(hex >> 24),
          .minor = static_cast<int>(hex >> 16 & 0xFF),
          .micro = static_cast<int>(hex >> 8 & 0xFF),
          .release_level = static_cast<int>(hex >> 4 & 0xF),
          .serial = static_cast<int>(hex & 0xF)};
}

std::string ToString(const PythonVersion& version) {
  std::string text = StrCat(version.major, ".", version.minor, ".", version.micro);
  if (version.release_level != kFinal) {
    text += StrCat(LevelLetters(version.release_level), version.serial);
  }
  return text;
}

}  // namespace sbump
