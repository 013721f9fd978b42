// What runs all this: for records of what was measured.
#pragma once

#include <cstdint>
#include <string>

namespace sbump {

struct Machine {
  std::string host;
  std::string kernel;       // "Linux 6.1.0-18-amd64"
  std::string cpu;          // the processor's name; empty: not told
  uint32_t processors = 0;  // that are online
  // What chooses the first processor's frequency ("performance"); empty: the kernel does not.
  std::string governor;
};

Machine ThisMachine();

}  // namespace sbump
