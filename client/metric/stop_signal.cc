#include "client/metric/stop_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace sbump {

StopSignal::StopSignal() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void StopSignal::Set() {
  set_ = true;
  const uint64_t one = 1;
  (void)!write(event_.get(), &one, sizeof(one));
}

}  // namespace sbump
