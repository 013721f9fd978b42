// How a session delays, and what it delays.
#pragma once

namespace sbump {

// How a thread is delayed. kSleep: from SB_SHORTEST_SLEEP_NS on it is held by the daemon, and costs
// no CPU; shorter delays spin all the same.
enum class DelayMode { kSpin, kSleep };

// Whether a generator or coroutine is hit when it starts only, or at each entry of its frame.
enum class HitOn { kCall, kResume };

}  // namespace sbump
