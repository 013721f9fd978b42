// The text of /proc/PID/maps and of /proc/PID/stat holds names that the target chose.
#include <cstdlib>

#include "daemon/process/proc_maps.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto maps = sbump::ParseMaps(text); maps.ok()) {
    for (const sbump::Mapping& m : *maps) {
      if (!(m.start < m.end) || m.path.size() > size || m.Contains(m.end)) abort();
    }
  }
  (void)sbump::ParseProcStat(text);
  return 0;
}
