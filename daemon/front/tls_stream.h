// A client's side with TLS, after the handshake.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <utility>

#include "daemon/front/outer_stream.h"
#include "daemon/front/tls.h"

namespace sbump {

using TlsSocket = boost::asio::ssl::stream<boost::asio::ip::tcp::socket>;

class TlsStream : public OuterStream {
 public:
  TlsStream(std::unique_ptr<TlsSocket> socket, TlsContext context)
      : context_(std::move(context)), socket_(std::move(socket)) {}

  void ReadSome(boost::asio::mutable_buffer buffer, Done done) override {
    socket_->async_read_some(buffer, std::move(done));
  }
  void Write(boost::asio::const_buffer buffer, Done done) override {
    boost::asio::async_write(*socket_, buffer, std::move(done));
  }
  // HTTP/2 says itself when something is complete: an end of the stream needs no proof.
  void ShutDownSending() override {
    boost::system::error_code ignored;
    socket_->next_layer().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  }
  void Close() override {
    boost::system::error_code ignored;
    socket_->next_layer().close(ignored);
  }

 private:
  TlsContext context_;  // before the stream, which uses it
  std::unique_ptr<TlsSocket> socket_;
};

}  // namespace sbump
