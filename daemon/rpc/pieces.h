// An answer of any length as messages that gRPC takes.
#pragma once

#include <google/protobuf/message.h>

#include <utility>
#include <vector>

namespace sbump {

// Well below gRPC's limit of 4 MB for a message.
inline constexpr size_t kBytesPerMessage = 1 << 20;

// Splits rows over messages by size. `Message` has `more`, and the lists that rows are added to.
template <typename Message>
class Pieces {
 public:
  explicit Pieces(Message common) : common_(std::move(common)), pieces_{common_} {}

  // For short lists: whoever puts the pieces together appends.
  Message& First() { return pieces_.front(); }

  // A new row, by the function of `Message` that adds it. To be filled before the next one is asked
  // for.
  template <typename Row>
  Row& Next(Row* (Message::*add)()) {
    Row* row = (Room().*add)();
    last_ = row;
    return *row;
  }
  std::vector<Message> Take() {
    for (size_t i = 0; i + 1 < pieces_.size(); ++i) pieces_[i].set_more(true);
    return std::move(pieces_);
  }

 private:
  // Each row is weighed: the target may give some names of 64 KiB.
  Message& Room() {
    if (last_ != nullptr) bytes_ += std::exchange(last_, nullptr)->ByteSizeLong();
    if (bytes_ > kBytesPerMessage) {
      pieces_.push_back(common_);
      bytes_ = 0;
    }
    return pieces_.back();
  }
  const Message common_;
  std::vector<Message> pieces_;
  const google::protobuf::Message* last_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace sbump
