// Accepts TCP connections, makes the handshake, and lets in whose certificate is verified.
//
// Thread: the front door's own.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>

#include "daemon/front/tls_stream.h"
#include "daemon/policy/caller.h"

namespace sbump {

class TlsListener {
 public:
  using LetIn = std::function<void(std::unique_ptr<OuterStream>, Caller)>;
  using Refused = std::function<void(const std::string& address, const std::string& why)>;

  TlsListener(boost::asio::io_context& io, boost::asio::ip::tcp::acceptor acceptor, LetIn let_in,
              Refused refused);

  void Start(TlsContext context);
  // For connections from now on.
  void Use(TlsContext context) { context_ = std::move(context); }
  void Close();

 private:
  struct Handshake;

  // Strangers may hold that many for that long. The oldest gives way to one more, so that those who
  // do nothing else keep nobody out.
  static constexpr size_t kMostHandshakes = 128;
  static constexpr auto kLongestHandshake = std::chrono::seconds(10);

  void Accept();
  void Begin(boost::asio::ip::tcp::socket socket);
  void EndOldest();
  void Done(Handshake& handshake, const boost::system::error_code& error);

  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  const LetIn let_in_;
  const Refused refused_;
  TlsContext context_;
  std::deque<std::shared_ptr<Handshake>> under_way_;  // in order of their begin
};

}  // namespace sbump
