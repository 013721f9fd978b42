// C++ names as people write them.
#pragma once

#include <optional>
#include <string>

namespace sbump {

inline constexpr size_t kMaxMangledBytes = 2048;
inline constexpr size_t kMaxDemangledBytes = 8192;

// "ns::Class::method(int)" for "_ZN2ns5Class6methodEi". Nothing for what is no mangled name, or is
// longer than the limits: a short hostile name can stand for gigabytes, so the work ends there.
std::optional<std::string> Demangle(const std::string& mangled);

}  // namespace sbump
