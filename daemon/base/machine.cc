#include "daemon/base/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace sbump {
namespace {

// "model name	: AMD EPYC 7B13" of /proc/cpuinfo: the first of them.
std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  constexpr int kMostLines = 100;
  std::string line;
  for (int i = 0; i < kMostLines && std::getline(file, line); ++i) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

std::string Governor() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

Machine ThisMachine() {
  Machine machine = {.cpu = CpuName(), .governor = Governor()};
  utsname system{};
  if (uname(&system) == 0) {
    machine.host = system.nodename;
    machine.kernel = std::string(system.sysname) + " " + system.release;
  }
  machine.processors = static_cast<uint32_t>(std::max(0L, sysconf(_SC_NPROCESSORS_ONLN)));
  return machine;
}

}  // namespace sbump
