#include "tests/client/metric/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "daemon/base/str_cat.h"

namespace sbump::test {
namespace {

void Require(bool held, const char* what) {
  if (held) return;
  perror(what);
  abort();
}

bool SendAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// The head of a request; empty at the end of the connection.
std::string ReadHead(int fd) {
  std::string head;
  char c;
  while (!head.ends_with("\r\n\r\n")) {
    if (recv(fd, &c, 1, 0) <= 0) return "";
    head += c;
  }
  return head;
}

}  // namespace

std::string Reply(std::string_view body, std::string_view status, std::string_view more_headers) {
  return StrCat("HTTP/1.1 ", status, "\r\nContent-Length: ", body.size(), "\r\n", more_headers,
                "\r\n", body);
}

HttpServer::HttpServer(Handler handler, uint16_t port)
    : handler_(std::move(handler)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int one = 1;
  setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  Require(bind(listener_.get(), any, size) == 0, "bind");
  Require(getsockname(listener_.get(), any, &size) == 0, "getsockname");
  port_ = ntohs(address.sin_port);
  Listen();
}

HttpServer::HttpServer(Handler handler, const std::string& unix_socket)
    : handler_(std::move(handler)), listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  Require(unix_socket.size() < sizeof(address.sun_path), "a long path");
  unix_socket.copy(address.sun_path, unix_socket.size());
  Require(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0,
          "bind");
  Listen();
}

void HttpServer::Listen() {
  Require(listen(listener_.get(), 16) == 0, "listen");
  accepter_ = std::thread([this] { Accept(); });
}

HttpServer::~HttpServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  shutdown(listener_.get(), SHUT_RDWR);
  accepter_.join();
  for (std::thread& thread : threads_) thread.join();
}

std::string HttpServer::Url(std::string_view path) const {
  return StrCat("http://127.0.0.1:", port_, path);
}

size_t HttpServer::connections() const {
  const std::lock_guard lock(mutex_);
  return threads_.size();
}

void HttpServer::Accept() {
  while (true) {
    const int fd = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      close(fd);
      return;
    }
    open_.insert(fd);
    threads_.emplace_back([this, fd] { Serve(fd); });
  }
}

void HttpServer::Serve(int fd) {
  while (true) {
    const std::string head = ReadHead(fd);
    if (head.empty()) break;
    const std::string answer = handler_(head);
    const size_t body = answer.find("\r\n\r\n");
    if (answer.empty() || !SendAll(fd, std::string_view(answer).substr(0, body))) break;
    if (body != answer.npos && !SendAll(fd, std::string_view(answer).substr(body))) break;
    if (answer.find("Connection: close") != answer.npos) break;
  }
  const std::lock_guard lock(mutex_);
  open_.erase(fd);
  close(fd);
}

}  // namespace sbump::test
