// One connection: carries bytes between a client and gRPC's end of a socket pair, until both
// directions are over. It reads no further on one side than the other has taken, so a client that
// reads slowly holds up itself alone.
//
// Thread: the front door's own.
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "daemon/front/outer_stream.h"

namespace sbump {

class Relay : public std::enable_shared_from_this<Relay> {
 public:
  using Inner = boost::asio::local::stream_protocol::socket;

  // `on_end` is called once, when nothing is carried any more.
  Relay(std::unique_ptr<OuterStream> outer, Inner inner, std::function<void()> on_end);

  void Start();
  // Ends it as if both sides had closed.
  void Close();

 private:
  // What one direction may take after the other has ended: a last message, not a stream.
  static constexpr auto kLongestFarewell = std::chrono::seconds(5);
  using Buffer = std::array<char, 8192>;

  void ReadOuter();
  void ReadInner();
  void EndUpward();
  void EndDownward();
  void EndOf(bool& open);

  std::unique_ptr<OuterStream> outer_;
  Inner inner_;
  std::function<void()> on_end_;
  boost::asio::steady_timer farewell_;
  bool upward_open_ = true;    // client to gRPC
  bool downward_open_ = true;  // gRPC to client
  Buffer up_;
  Buffer down_;
};

}  // namespace sbump
