// The version of this build: one place, for the daemon, the client and the package.
#pragma once

namespace sbump {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace sbump
