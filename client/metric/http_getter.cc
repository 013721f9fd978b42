#include "client/metric/http_getter.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "client/printable.h"
#include "daemon/base/clock.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

constexpr long kMostRedirects = 3;
constexpr int kLongestPollMs = 1000;

template <auto cleanup>
struct CleanUp {
  template <typename T>
  void operator()(T* handle) const {
    cleanup(handle);
  }
};
using Easy = std::unique_ptr<CURL, CleanUp<curl_easy_cleanup>>;
using Multi = std::unique_ptr<CURLM, CleanUp<curl_multi_cleanup>>;
using List = std::unique_ptr<curl_slist, CleanUp<curl_slist_free_all>>;

// What comes in, up to a limit.
struct Body {
  std::string text;
  bool too_large = false;

  static size_t Add(char* data, size_t, size_t size, void* body) {
    return static_cast<Body*>(body)->Add({data, size});
  }
  size_t Add(std::string_view data) {
    too_large = data.size() > kLargestReply - text.size();
    if (too_large) return 0;
    text += data;
    return data.size();
  }
};

class CurlGetter : public HttpGetter {
 public:
  CurlGetter(const HttpUrl& url, uint64_t timeout_ns, const StopSignal& stop)
      : url_(url), timeout_ns_(timeout_ns), stop_(stop) {}

  absl::Status Init(const std::string& accept);
  absl::StatusOr<std::string> Get() override;

 private:
  bool SetOptions();
  void AcknowledgeAtOnce() const;
  // What libcurl says of the transfer in the end.
  absl::StatusOr<CURLcode> Transfer();
  absl::Status Explain(CURLcode code) const;
  absl::Status ExplainConnection() const;
  absl::Status CheckStatus() const;
  template <typename T>
  T Info(CURLINFO info) const {
    T value{};
    curl_easy_getinfo(easy_.get(), info, &value);
    return value;
  }

  const HttpUrl url_;
  const uint64_t timeout_ns_;
  const StopSignal& stop_;
  Body body_;
  char why_[CURL_ERROR_SIZE] = "";
  // Of the connection that was used last, if it is still open: libcurl tells between transfers
  // only.
  curl_socket_t socket_ = CURL_SOCKET_BAD;
  List headers_;
  Multi multi_;  // holds the connections
  Easy easy_;
};

// Before any other thread of ours uses it; libcurl's own initialisation is safe to repeat.
bool CurlIsReady() {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return ready;
}

absl::Status CurlGetter::Init(const std::string& accept) {
  if (CurlIsReady()) {
    multi_.reset(curl_multi_init());
    easy_.reset(curl_easy_init());
    headers_.reset(curl_slist_append(nullptr, StrCat("Accept: ", accept).c_str()));
  }
  if (multi_ == nullptr || easy_ == nullptr || headers_ == nullptr || !SetOptions())
    return absl::ResourceExhaustedError("libcurl cannot be set up: out of memory?");
  return absl::OkStatus();
}

bool CurlGetter::SetOptions() {
  bool good = true;
  const auto set = [&](CURLoption option, auto value) {
    good = good && curl_easy_setopt(easy_.get(), option, value) == CURLE_OK;
  };
  set(CURLOPT_URL, url_.url.c_str());
  set(CURLOPT_HTTPHEADER, headers_.get());
  set(CURLOPT_USERAGENT, "sbumpctl");
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, url_.url.starts_with("https:") ? "https" : "http,https");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, kMostRedirects);
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
  set(CURLOPT_NOSIGNAL, 1L);
  // At least one: 0 would be no limit.
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_ns_ / 1'000'000 + 1));
  set(CURLOPT_WRITEFUNCTION, static_cast<curl_write_callback>(&Body::Add));
  set(CURLOPT_WRITEDATA, &body_);
  set(CURLOPT_ERRORBUFFER, why_);
  if (url_.is_loopback) set(CURLOPT_PROXY, "");
  if (!url_.unix_socket.empty()) set(CURLOPT_UNIX_SOCKET_PATH, url_.unix_socket.c_str());
  return good;
}

// A server that writes head and body apart (Python's http.server does) holds the body back until
// the head is acknowledged, for which Linux takes 40 ms once a connection was used a few times. The
// kernel forgets this option as data goes either way.
void CurlGetter::AcknowledgeAtOnce() const {
  const int one = 1;
  if (socket_ != CURL_SOCKET_BAD) setsockopt(socket_, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof(one));
}

absl::StatusOr<CURLcode> CurlGetter::Transfer() {
  curl_waitfd stop{stop_.fd(), CURL_WAIT_POLLIN, 0};
  while (true) {
    int running = 0;
    if (const CURLMcode code = curl_multi_perform(multi_.get(), &running); code != CURLM_OK)
      return absl::InternalError(curl_multi_strerror(code));
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg == CURLMSG_DONE) return message->data.result;
    }
    if (stop_.is_set()) return absl::CancelledError("stopped");
    AcknowledgeAtOnce();
    curl_multi_poll(multi_.get(), &stop, 1, kLongestPollMs, nullptr);
  }
}

absl::StatusOr<std::string> CurlGetter::Get() {
  body_ = {};
  why_[0] = '\0';
  if (const CURLMcode code = curl_multi_add_handle(multi_.get(), easy_.get()); code != CURLM_OK)
    return absl::InternalError(curl_multi_strerror(code));
  const absl::StatusOr<CURLcode> code = Transfer();
  socket_ = CURL_SOCKET_BAD;
  curl_easy_getinfo(easy_.get(), CURLINFO_ACTIVESOCKET, &socket_);
  curl_multi_remove_handle(multi_.get(), easy_.get());
  if (!code.ok()) return code.status();
  SB_RETURN_IF_ERROR(Explain(*code));
  SB_RETURN_IF_ERROR(CheckStatus());
  return std::move(body_.text);
}

absl::Status CurlGetter::ExplainConnection() const {
  const int error = static_cast<int>(Info<long>(CURLINFO_OS_ERRNO));
  const std::string why = error == 0 ? why_ : std::generic_category().message(error);
  return absl::UnavailableError(StrCat("no connection: ", Printable(why),
                                       "; is the service running, and is this its ",
                                       url_.unix_socket.empty() ? "address and port?" : "socket?"));
}

absl::Status CurlGetter::Explain(CURLcode code) const {
  const std::string why = Printable(why_[0] != '\0' ? why_ : curl_easy_strerror(code));
  switch (code) {
    case CURLE_OK:
      return absl::OkStatus();
    case CURLE_COULDNT_CONNECT:
      return ExplainConnection();
    case CURLE_OPERATION_TIMEDOUT:
      return absl::DeadlineExceededError(
          StrCat("no full reply within ", FormatDuration(timeout_ns_),
                 "; is the service overloaded, or what it replies with too slow to make?"));
    case CURLE_WRITE_ERROR:
      if (!body_.too_large) break;
      return absl::ResourceExhaustedError(
          StrCat("the reply is larger than ", kLargestReply, " bytes; name a smaller one"));
    case CURLE_UNSUPPORTED_PROTOCOL:  // also what is no HTTP at all
    case CURLE_TOO_MANY_REDIRECTS:
      if (Info<long>(CURLINFO_RESPONSE_CODE) / 100 != 3) break;
      return absl::FailedPreconditionError(
          StrCat("a redirect is not followed: ", why, "; write the URL that it leads to"));
    default:
      break;
  }
  return absl::UnavailableError(StrCat("the request failed: ", why));
}

absl::Status CurlGetter::CheckStatus() const {
  const long status = Info<long>(CURLINFO_RESPONSE_CODE);
  if (status >= 200 && status < 300) return absl::OkStatus();
  const std::string what = StrCat("the service replies with HTTP status ", status, " (\"",
                                  Printable(std::string_view(body_.text).substr(0, 80)), "\")");
  if (status == 404) return absl::NotFoundError(StrCat(what, "; is this the right path?"));
  if (status == 401 || status == 403) {
    return absl::PermissionDeniedError(
        StrCat(what, "; a user and a password for this host are read from ~/.netrc"));
  }
  if (status >= 500) return absl::UnavailableError(StrCat(what, "; its own log says why"));
  return absl::FailedPreconditionError(what);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpGetter>> HttpGetter::Open(const HttpUrl& url, std::string accept,
                                                             uint64_t timeout_ns,
                                                             const StopSignal& stop) {
  auto getter = std::make_unique<CurlGetter>(url, timeout_ns, stop);
  SB_RETURN_IF_ERROR(getter->Init(accept));
  return std::unique_ptr<HttpGetter>(std::move(getter));
}

}  // namespace sbump
