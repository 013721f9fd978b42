#include "daemon/attach/program_reserve.h"

#include <cstring>
#include <system_error>

namespace sbump {

ProgramReserve::Loaded ProgramReserve::Take(const sb_config& config, ProgramSet set) {
  if (std::future<Loaded> spare = Exchange(config, set); spare.valid()) {
    if (Loaded loaded = spare.get(); loaded.ok()) return loaded;
  }
  return loader_(config, set);
}

void ProgramReserve::Clear() {
  std::lock_guard lock(mutex_);
  spare_.reset();
}

std::future<ProgramReserve::Loaded> ProgramReserve::Exchange(const sb_config& config,
                                                             ProgramSet set) {
  std::optional<Spare> next;
  try {
    next.emplace(Spare{config, set, std::async(std::launch::async, loader_, config, set)});
  } catch (const std::system_error&) {
    // No thread to be had: no spare.
  }
  {
    std::lock_guard lock(mutex_);
    spare_.swap(next);
  }
  // sb_config has no hidden padding. One of another kind goes, here.
  const bool fits = next && next->set == set && memcmp(&next->config, &config, sizeof(config)) == 0;
  return fits ? std::move(next->programs) : std::future<Loaded>();
}

}  // namespace sbump
