// The texts of /proc/PID: maps, stat, status and cgroup hold names that the target chose.
#include <cstdlib>
#include <string>

#include "daemon/process/proc_maps.h"
#include "daemon/process/proc_status.h"
#include "daemon/process/process_facts.h"
#include "daemon/process/target_process.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto maps = sbump::ParseMaps(text); maps.ok()) {
    for (const sbump::Mapping& m : *maps) {
      if (!(m.start < m.end) || m.path.size() > size || m.Contains(m.end)) abort();
    }
  }
  (void)sbump::ParseProcStat(text);
  if (sbump::StatusField(text, "Uid").find('\n') != std::string::npos) abort();
  for (const std::string& cgroup : sbump::ParseCgroups(text)) {
    for (const std::string& name : sbump::ContainerNames(cgroup)) {
      if (name.empty() || name.find('/') != std::string::npos) abort();
    }
  }
  return 0;
}
