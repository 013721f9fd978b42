#include "daemon/attach/program_reserve.h"

#include <cstring>
#include <exception>

namespace sbump {

ProgramReserve::Loaded ProgramReserve::Take(const sb_config& config, ProgramSet set) {
  try {
    if (std::future<Loaded> spare = Exchange(config, set); spare.valid()) {
      if (Loaded loaded = spare.get(); loaded.ok()) return loaded;
    }
  } catch (const std::exception&) {
    // No thread to be had, or no memory on that thread: as if there were no spare.
  }
  return loader_(config, set);
}

void ProgramReserve::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  spare_.reset();
}

std::future<ProgramReserve::Loaded> ProgramReserve::Exchange(const sb_config& config,
                                                             ProgramSet set) {
  std::optional<Spare> last;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return {};
    last = std::move(spare_);
    spare_.reset();
    spare_.emplace(Spare{config, set, std::async(std::launch::async, loader_, config, set)});
  }
  // sb_config has no hidden padding. One of another kind goes, here.
  const bool fits = last && last->set == set && memcmp(&last->config, &config, sizeof(config)) == 0;
  return fits ? std::move(last->programs) : std::future<Loaded>();
}

}  // namespace sbump
