// A client's side of a connection, plain or TLS.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/system/error_code.hpp>
#include <functional>

namespace sbump {

class OuterStream {
 public:
  using Done = std::function<void(const boost::system::error_code& error, size_t bytes)>;

  virtual ~OuterStream() = default;
  virtual void ReadSome(boost::asio::mutable_buffer buffer, Done done) = 0;
  // Writes all of it.
  virtual void Write(boost::asio::const_buffer buffer, Done done) = 0;
  // Tells the client that nothing more comes.
  virtual void ShutDownSending() = 0;
  virtual void Close() = 0;
};

}  // namespace sbump
