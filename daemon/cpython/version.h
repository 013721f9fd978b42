// A CPython version as PY_VERSION_HEX spells it (CPython Include/patchlevel.h).
#pragma once

#include <cstdint>
#include <string>

namespace sbump {

struct PythonVersion {
  int major = 0;
  int minor = 0;
  int micro = 0;
  // 0xA alpha, 0xB beta, 0xC release candidate, 0xF final.
  int release_level = 0xF;
  int serial = 0;

  bool AtLeast(int want_major, int want_minor) const {
    return major != want_major ? major > want_major : minor >= want_minor;
  }
  bool operator==(const PythonVersion&) const = default;
};

PythonVersion PythonVersionFromHex(uint32_t hex);
std::string ToString(const PythonVersion& version);  // "3.12.1", "3.14.0rc2"

}  // namespace sbump
