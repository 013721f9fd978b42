// A fuzz target of several kinds of message: the low half of an input's first byte picks one, the
// others are read as it. Kinds are added at the end, so that inputs of the corpus keep their
// meaning.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sbump {

inline constexpr size_t kMostTrials = 16;
using Trial = void (*)(std::string_view bytes);

// `use` gets each message that protobuf takes.
template <typename Message, auto use>
void With(std::string_view bytes) {
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) use(message);
}

inline int TryOneOf(std::span<const Trial> trials, const uint8_t* data, size_t size) {
  if (size == 0 || data[0] % kMostTrials >= trials.size()) return 0;
  trials[data[0] % kMostTrials]({reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}

}  // namespace sbump
