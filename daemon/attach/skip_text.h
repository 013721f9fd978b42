// What the BPF programs did not do, and counted instead, in words for the user.
#pragma once

#include <string_view>

#include "bpf/shared/event.h"

namespace sbump {

// "the daemon answered too late: a first call went on undelayed"
std::string_view SkipReasonText(sb_skip reason);

}  // namespace sbump
