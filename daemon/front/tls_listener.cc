#include "daemon/front/tls_listener.h"

#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kAcceptPause = std::chrono::milliseconds(100);  // after descriptors have run out

std::string TextOf(const tcp::endpoint& endpoint) {
  const bool v6 = endpoint.address().is_v6();
  return StrCat(v6 ? "[" : "", endpoint.address().to_string(), v6 ? "]" : "", ":", endpoint.port());
}

// A client whose machine or network went away is gone within half a minute.
void NoticeDeadPeers(tcp::socket& socket) {
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket.native_handle(), level, option, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 25'000);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

std::string WhyFailed(SSL* ssl, const error_code& error) {
  const long verified = SSL_get_verify_result(ssl);
  if (verified == X509_V_OK) return error.message();
  return StrCat("its certificate: ", X509_verify_cert_error_string(verified));
}

// Somebody only looked whether anything listens here, as sbumpctl does before it calls.
bool LeftWithoutAWord(SSL* ssl, const error_code& error) {
  const bool hung_up_on = error == asio::error::operation_aborted;  // by the deadline
  return !hung_up_on && BIO_number_read(SSL_get_rbio(ssl)) == 0;
}

}  // namespace

struct TlsListener::Handshake {
  Handshake(asio::io_context& io, tcp::socket socket, TlsContext with)
      : context(std::move(with)),
        stream(std::make_unique<TlsSocket>(std::move(socket), *context)),
        deadline(io) {}

  TlsContext context;
  std::unique_ptr<TlsSocket> stream;
  asio::steady_timer deadline;
  std::string address;
  bool gave_way = false;

  void HangUp() {
    error_code ignored;
    if (stream != nullptr) stream->next_layer().close(ignored);
  }
};

TlsListener::TlsListener(asio::io_context& io, tcp::acceptor acceptor, LetIn let_in,
                         Refused refused)
    : acceptor_(std::move(acceptor)),
      pause_(io),
      let_in_(std::move(let_in)),
      refused_(std::move(refused)) {}

void TlsListener::Start(TlsContext context) {
  context_ = std::move(context);
  Accept();
}

void TlsListener::Close() {
  error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
}

void TlsListener::Accept() {
  acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) {
      Begin(std::move(socket));
      return Accept();
    }
    Log(LogLevel::kWarning, "accept_failed", {{"why", error.message()}});
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](const error_code& cancelled) {
      if (!cancelled) Accept();
    });
  });
}

void TlsListener::Begin(tcp::socket socket) {
  error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return;  // gone already
  if (under_way_.size() >= kMostHandshakes) EndOldest();
  NoticeDeadPeers(socket);
  auto& io = static_cast<asio::io_context&>(acceptor_.get_executor().context());
  const auto handshake = std::make_shared<Handshake>(io, std::move(socket), context_);
  handshake->address = TextOf(peer);
  under_way_.push_back(handshake);
  handshake->deadline.expires_after(kLongestHandshake);
  handshake->deadline.async_wait([handshake](const error_code& cancelled) {
    if (!cancelled) handshake->HangUp();
  });
  handshake->stream->async_handshake(asio::ssl::stream_base::server,
                                     [this, handshake](const error_code& failed) {
                                       handshake->deadline.cancel();
                                       std::erase(under_way_, handshake);
                                       Done(*handshake, failed);
                                     });
}

void TlsListener::EndOldest() {
  under_way_.front()->gave_way = true;
  under_way_.front()->HangUp();
  under_way_.pop_front();
}

void TlsListener::Done(Handshake& handshake, const error_code& error) {
  SSL* ssl = handshake.stream->native_handle();
  if (handshake.gave_way)
    return refused_(handshake.address, "too many handshakes at once, and it was the oldest");
  if (error && LeftWithoutAWord(ssl, error)) return;
  if (error) return refused_(handshake.address, WhyFailed(ssl, error));
  Caller caller{.kind = Caller::Kind::kCertificate, .address = handshake.address};
  X509* certificate = SSL_get1_peer_certificate(ssl);
  if (certificate != nullptr) caller.names = SubjectNames(certificate);
  X509_free(certificate);
  if (SSL_get_verify_result(ssl) != X509_V_OK || caller.names.empty())
    return refused_(handshake.address, "its certificate has no subject alternative name");
  let_in_(std::make_unique<TlsStream>(std::move(handshake.stream), handshake.context),
          std::move(caller));
}

}  // namespace sbump
