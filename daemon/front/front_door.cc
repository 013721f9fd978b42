#include "daemon/front/front_door.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <thread>

#include "daemon/base/limited_log.h"
#include "daemon/base/str_cat.h"
#include "daemon/front/listener.h"
#include "daemon/front/peer_credentials.h"
#include "daemon/front/plain_stream.h"
#include "daemon/front/relay.h"
#include "daemon/front/tcp_address.h"
#include "daemon/front/tls_listener.h"

namespace sbump {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::local::stream_protocol;
using boost::system::error_code;

// After descriptors have run out.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);
constexpr auto kFarewell = std::chrono::seconds(1);

struct SocketPair {
  Fd ours;
  Fd theirs;
};

// `ours` bears `name`: what the other end sees as its peer.
absl::StatusOr<SocketPair> MakeNamedPair(const std::string& name) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
    return ErrnoStatus(errno, "a socket pair for a client");
  SocketPair pair{Fd(fds[0]), Fd(fds[1])};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path + 1, name.data(), name.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(pair.ours.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0)
    return ErrnoStatus(errno, StrCat("naming a client's socket ", name));
  return pair;
}

class Door : public FrontDoor {
 public:
  Door(const FrontDoorOptions& options, Connections& connections, HandOver hand_over,
       std::function<void()> on_tls_failure)
      : options_(options),
        connections_(connections),
        hand_over_(std::move(hand_over)),
        on_tls_failure_(std::move(on_tls_failure)) {}

  ~Door() override { Close(); }

  void Close() final {
    if (!thread_.joinable()) return;
    asio::post(io_, [this] { Leave(); });
    thread_.join();
  }

  absl::Status Open() {
    // The Unix sockets last: who sees one may take the daemon for ready.
    for (const std::string& endpoint : options_.listen)
      if (IsTcpEndpoint(endpoint)) SB_RETURN_IF_ERROR(OpenTcp(endpoint));
    for (const std::string& endpoint : options_.listen)
      if (!IsTcpEndpoint(endpoint)) SB_RETURN_IF_ERROR(OpenUnix(endpoint));
    for (const auto& one : local_) Accept(*one);
    for (const auto& one : remote_) one->Start(tls_);
    thread_ = std::thread([this] {
      pthread_setname_np(pthread_self(), "front");
      io_.run();
    });
    return absl::OkStatus();
  }

  absl::Status Reload() override {
    if (remote_.empty()) return absl::OkStatus();
    SB_ASSIGN_OR_RETURN(TlsContext fresh, MakeServerContext(options_.tls));
    asio::post(io_, [this, fresh] {
      for (const auto& one : remote_) one->Use(fresh);
    });
    return absl::OkStatus();
  }

 private:
  absl::Status OpenUnix(const std::string& endpoint) {
    SB_ASSIGN_OR_RETURN(UnixListener listener, UnixListener::Open(endpoint, options_.socket_group));
    local_.push_back(std::make_unique<Local>(io_, std::move(listener)));
    return absl::OkStatus();
  }

  absl::Status OpenTcp(const std::string& endpoint) {
    if (tls_ == nullptr) {
      SB_ASSIGN_OR_RETURN(tls_, MakeServerContext(options_.tls));
    }
    SB_ASSIGN_OR_RETURN(const auto addresses, ResolveTcpEndpoint(endpoint, options_.listen_any));
    for (const tcp::endpoint& address : addresses) {
      try {
        tcp::acceptor acceptor(io_, address);  // with SO_REUSEADDR
        remote_.push_back(std::make_unique<TlsListener>(
            io_, std::move(acceptor),
            [this](std::unique_ptr<OuterStream> outer, Caller caller) {
              Admit(std::move(outer), caller);
            },
            [this](const std::string& from, const std::string& why) { TlsFailed(from, why); }));
      } catch (const boost::system::system_error& error) {
        return absl::UnavailableError(StrCat("--listen ", endpoint, ": ", error.what()));
      }
    }
    return absl::OkStatus();
  }

  void TlsFailed(const std::string& from, const std::string& why) {
    tls_refused_.Write({{"address", from}, {"why", why}});
    if (on_tls_failure_) on_tls_failure_();
  }

  struct Local {
    Local(asio::io_context& io, UnixListener&& from)
        : listener(std::move(from)),
          acceptor(io, stream_protocol(), dup(listener.fd().get())),
          pause(io) {}
    UnixListener listener;
    stream_protocol::acceptor acceptor;
    asio::steady_timer pause;
  };

  void Accept(Local& local) {
    local.acceptor.async_accept(
        [this, &local](const error_code& error, stream_protocol::socket socket) {
          if (error == asio::error::operation_aborted) return;
          if (error) return Pause(local, error);
          LetIn(std::move(socket));
          Accept(local);
        });
  }

  void Pause(Local& local, const error_code& error) {
    Log(LogLevel::kWarning, "accept_failed", {{"why", error.message()}});
    local.pause.expires_after(kAcceptPause);
    local.pause.async_wait([this, &local](const error_code& cancelled) {
      if (!cancelled) Accept(local);
    });
  }

  void LetIn(stream_protocol::socket socket) {
    absl::StatusOr<Caller> caller = PeerCredentials(socket.native_handle());
    if (!caller.ok()) return Refused(caller.status());
    Admit(std::make_unique<PlainStream<stream_protocol::socket>>(std::move(socket)), *caller);
  }

  void Admit(std::unique_ptr<OuterStream> outer, const Caller& caller) {
    const absl::Status status = Connect(std::move(outer), caller);
    if (!status.ok()) Refused(status);
  }

  void Refused(const absl::Status& status) {
    client_refused_.Write({{"why", ToStd(status.message())}});
  }

  absl::Status Connect(std::unique_ptr<OuterStream> outer, const Caller& caller) {
    SB_ASSIGN_OR_RETURN(const uint64_t number, connections_.Add(caller));
    absl::StatusOr<SocketPair> pair = MakeNamedPair(connections_.NameOf(number));
    if (!pair.ok()) {
      connections_.Remove(number);
      return pair.status();
    }
    Relay::Inner inner(io_, stream_protocol(), pair->ours.Release());
    const auto relay = std::make_shared<Relay>(std::move(outer), std::move(inner),
                                               [this, number] { Ended(number); });
    relays_[number] = relay;
    hand_over_(std::move(pair->theirs), caller);
    relay->Start();
    return absl::OkStatus();
  }

  void Ended(uint64_t number) {
    connections_.Remove(number);
    relays_.erase(number);
    if (leaving_ && relays_.empty()) io_.stop();
  }

  // gRPC has ended its side, or does so now: what it said last is still carried.
  void Leave() {
    leaving_ = true;
    for (const auto& one : local_) one->acceptor.close();
    for (const auto& one : remote_) one->Close();
    if (relays_.empty()) return io_.stop();
    farewell_.expires_after(kFarewell);
    farewell_.async_wait([this](const error_code&) { io_.stop(); });
  }

  const FrontDoorOptions options_;
  Connections& connections_;
  const HandOver hand_over_;
  const std::function<void()> on_tls_failure_;
  LimitedLog tls_refused_{LogLevel::kWarning, "tls_refused"};
  LimitedLog client_refused_{LogLevel::kWarning, "client_refused"};
  TlsContext tls_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> keep_running_{io_.get_executor()};
  asio::steady_timer farewell_{io_};
  std::vector<std::unique_ptr<Local>> local_;
  std::vector<std::unique_ptr<TlsListener>> remote_;
  std::map<uint64_t, std::shared_ptr<Relay>> relays_;
  bool leaving_ = false;
  std::thread thread_;
};

}  // namespace

absl::Status CheckListen(const std::string& endpoint) {
  return IsTcpEndpoint(endpoint) ? CheckTcpEndpoint(endpoint) : CheckUnixEndpoint(endpoint);
}

absl::StatusOr<std::unique_ptr<FrontDoor>> FrontDoor::Open(const FrontDoorOptions& options,
                                                           Connections& connections,
                                                           HandOver hand_over,
                                                           std::function<void()> on_tls_failure) {
  auto door =
      std::make_unique<Door>(options, connections, std::move(hand_over), std::move(on_tls_failure));
  SB_RETURN_IF_ERROR(door->Open());
  return door;
}

}  // namespace sbump
