// The version of this sbumpctl.
#pragma once

namespace sbump {

inline constexpr char kClientVersion[] = "0.1.0";

}  // namespace sbump
