// Numbers that can be computed on: JSON of protobuf may hold "NaN" and "Infinity".
#pragma once

#include "google/protobuf/message.h"

namespace sbump {

// Whether each floating-point field of `message`, and of all messages in it, is finite.
bool HasFiniteNumbersOnly(const google::protobuf::Message& message);

}  // namespace sbump
