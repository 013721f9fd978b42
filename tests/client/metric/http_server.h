// A small HTTP server on loopback, or on a Unix socket, that answers what a test says.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "daemon/base/fd.h"

namespace sbump::test {

// A whole reply, with its length.
std::string Reply(std::string_view body, std::string_view status = "200 OK",
                  std::string_view more_headers = "");

class HttpServer {
 public:
  // `request`: its head. The answer is sent as it is, head and body one after the other; an empty
  // one closes the connection. Called from a thread of each connection.
  using Handler = std::function<std::string(const std::string& request)>;

  // Port 0: any that is free.
  explicit HttpServer(Handler handler, uint16_t port = 0);
  HttpServer(Handler handler, const std::string& unix_socket);
  ~HttpServer();

  uint16_t port() const { return port_; }
  // "http://127.0.0.1:PORT" and the path.
  std::string Url(std::string_view path) const;
  // How many were accepted.
  size_t connections() const;

 private:
  void Listen();
  void Accept();
  void Serve(int fd);

  const Handler handler_;
  Fd listener_;
  uint16_t port_ = 0;
  mutable std::mutex mutex_;
  bool stopping_ = false;
  std::set<int> open_;
  std::vector<std::thread> threads_;
  std::thread accepter_;
};

}  // namespace sbump::test
