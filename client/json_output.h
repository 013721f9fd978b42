// Messages as --format json prints them: protobuf JSON, proto field names, zero values printed,
// 64-bit numbers as strings (the protobuf JSON rule), one line each.
#pragma once

#include <string>

#include "google/protobuf/message.h"

namespace sbump {

// With its newline.
std::string JsonLine(const google::protobuf::Message& message);

}  // namespace sbump
