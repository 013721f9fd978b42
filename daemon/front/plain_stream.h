// A client's side without TLS.
#pragma once

#include <boost/asio/write.hpp>
#include <utility>

#include "daemon/front/outer_stream.h"

namespace sbump {

template <typename Socket>
class PlainStream : public OuterStream {
 public:
  explicit PlainStream(Socket socket) : socket_(std::move(socket)) {}

  void ReadSome(boost::asio::mutable_buffer buffer, Done done) override {
    socket_.async_read_some(buffer, std::move(done));
  }
  void Write(boost::asio::const_buffer buffer, Done done) override {
    boost::asio::async_write(socket_, buffer, std::move(done));
  }
  void ShutDownSending() override {
    boost::system::error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }
  void Close() override {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

 private:
  Socket socket_;
};

}  // namespace sbump
