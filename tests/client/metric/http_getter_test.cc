// Against a real server on loopback.
#include "client/metric/http_getter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "tests/client/metric/http_server.h"
#include "tests/fakes/temp_dir.h"

namespace sbump {
namespace {

using test::HttpServer;
using test::Reply;
using testing::HasSubstr;

constexpr uint64_t kSecondNs = 1'000'000'000;

class HttpGetterTest : public testing::Test {
 protected:
  std::unique_ptr<HttpGetter> Open(const std::string& url, uint64_t timeout_ns = 20 * kSecondNs) {
    const auto parsed = ParseHttpUrl(url);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    auto getter = HttpGetter::Open(*parsed, "text/plain", timeout_ns, stop_);
    EXPECT_TRUE(getter.ok()) << getter.status();
    return *std::move(getter);
  }
  // Of one that is opened for it.
  absl::Status Failure(const std::string& url, uint64_t timeout_ns = 20 * kSecondNs) {
    const auto body = Open(url, timeout_ns)->Get();
    EXPECT_FALSE(body.ok()) << url;
    return body.status();
  }

  StopSignal stop_;
};

// Blocks its reader until the test is over.
std::string Never(const StopSignal& over) {
  pollfd fd{over.fd(), POLLIN, 0};
  poll(&fd, 1, 60'000);
  return "";
}

TEST_F(HttpGetterTest, OneConnectionForAll) {
  std::string request;
  HttpServer server([&](const std::string& head) {
    request = head;
    return Reply("hello");
  });
  const auto getter = Open(server.Url("/metrics?a=b"));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(getter->Get().value(), "hello");
  EXPECT_EQ(server.connections(), 1u);
  EXPECT_THAT(request, testing::StartsWith("GET /metrics?a=b HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("Accept: text/plain\r\n"));
  EXPECT_THAT(request, testing::Not(HasSubstr("Accept-Encoding")));
}

// The server's body waits for the head's acknowledgement, which takes 40 ms where nobody asks for
// more haste.
TEST_F(HttpGetterTest, HeadAndBodyApartAreNoSlower) {
  HttpServer server([](const std::string&) { return Reply("x"); });
  const auto getter = Open(server.Url("/"));
  std::vector<uint64_t> took_ns;
  // A connection's first segments are acknowledged at once in any case. Then the quickest tells: on
  // a busy machine all but one may be slow.
  for (int i = 0; i < 60; ++i) {
    const uint64_t begin_ns = MonotonicNs();
    ASSERT_TRUE(getter->Get().ok());
    if (i >= 30) took_ns.push_back(MonotonicNs() - begin_ns);
  }
  EXPECT_EQ(server.connections(), 1u);
  EXPECT_LT(std::ranges::min(took_ns), 30'000'000u);
}

TEST_F(HttpGetterTest, AConnectionThatEndedIsMadeAnew) {
  HttpServer server(
      [](const std::string&) { return Reply("x", "200 OK", "Connection: close\r\n"); });
  const auto getter = Open(server.Url("/"));
  EXPECT_EQ(getter->Get().value(), "x");
  EXPECT_EQ(getter->Get().value(), "x");
  EXPECT_EQ(server.connections(), 2u);
}

TEST_F(HttpGetterTest, UnixSocket) {
  const TempDir directory("http");
  const std::string socket = directory.path() + "/s";
  {
    HttpServer server([](const std::string&) { return Reply("u"); }, socket);
    EXPECT_EQ(Open(StrCat("unix:", socket, ":/m"))->Get().value(), "u");
  }
  unlink(socket.c_str());
  const absl::Status gone = Failure(StrCat("unix:", socket, ":/m"));
  EXPECT_EQ(gone.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(gone.message(), HasSubstr("its socket?"));
}

TEST_F(HttpGetterTest, NobodyListens) {
  std::string url;
  {
    HttpServer server([](const std::string&) { return Reply(""); });
    url = server.Url("/");
  }
  const absl::Status refused = Failure(url);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("Connection refused; is the service running"));
}

TEST_F(HttpGetterTest, StatusOfTheReply) {
  std::string status;
  HttpServer server([&](const std::string&) { return Reply("<b>\x1b[2Jno</b>", status); });
  for (const auto& [line, code, hint] :
       std::vector<std::tuple<std::string, absl::StatusCode, std::string>>{
           {"500 Oops", absl::StatusCode::kUnavailable, "HTTP status 500"},
           {"503 Busy", absl::StatusCode::kUnavailable, "its own log"},
           {"404 None", absl::StatusCode::kNotFound, "the right path?"},
           {"401 Who", absl::StatusCode::kPermissionDenied, "~/.netrc"},
           {"403 No", absl::StatusCode::kPermissionDenied, "~/.netrc"},
           {"400 Bad", absl::StatusCode::kFailedPrecondition, "HTTP status 400"}}) {
    status = line;
    const absl::Status failure = Failure(server.Url("/"));
    EXPECT_EQ(failure.code(), code) << line;
    EXPECT_THAT(failure.message(), HasSubstr(hint));
    EXPECT_THAT(failure.message(), HasSubstr("\\x1b[2Jno"));
  }
}

TEST_F(HttpGetterTest, ASlowServer) {
  StopSignal over;
  HttpServer server([&](const std::string&) { return Never(over); });
  const uint64_t begin_ns = MonotonicNs();
  const absl::Status slow = Failure(server.Url("/"), kSecondNs / 5);
  EXPECT_LT(MonotonicNs() - begin_ns, 10 * kSecondNs);
  EXPECT_EQ(slow.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(slow.message(), HasSubstr("within 200ms"));
  over.Set();
}

TEST_F(HttpGetterTest, AServerThatStopsInTheMiddle) {
  HttpServer server([](const std::string&) {
    return std::string("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nx");
  });
  EXPECT_EQ(Failure(server.Url("/")).code(), absl::StatusCode::kUnavailable);
}

TEST_F(HttpGetterTest, AServerThatSpeaksSomethingElse) {
  HttpServer server(
      [](const std::string&) { return std::string("220 ftp Connection: close\r\n"); });
  const absl::Status failure = Failure(server.Url("/"));
  EXPECT_EQ(failure.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(failure.message(), HasSubstr("HTTP/0.9"));
}

TEST_F(HttpGetterTest, AHugeReply) {
  const std::string huge(kLargestReply + 1, 'x');
  HttpServer server([&](const std::string& head) {
    if (head.starts_with("GET /most ")) return Reply(std::string_view(huge).substr(1));
    if (head.starts_with("GET /length ")) return Reply(huge);
    return StrCat("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", huge);
  });
  EXPECT_EQ(Open(server.Url("/most"))->Get()->size(), kLargestReply);
  for (const std::string& path : std::vector<std::string>{"/length", "/endless"}) {
    const absl::Status failure = Failure(server.Url(path));
    EXPECT_EQ(failure.code(), absl::StatusCode::kResourceExhausted) << path;
    EXPECT_THAT(failure.message(), HasSubstr("larger than 16777216 bytes"));
  }
}

TEST_F(HttpGetterTest, Redirects) {
  HttpServer server([](const std::string& head) {
    const auto to = [](std::string_view where) {
      return Reply("", "302 Found", StrCat("Location: ", where, "\r\n"));
    };
    if (head.starts_with("GET /there ")) return to("/here");
    if (head.starts_with("GET /file ")) return to("file:///etc/passwd");
    if (head.starts_with("GET /gopher ")) return to("gopher://127.0.0.1/");
    if (head.starts_with("GET /round ")) return to("/round");
    return Reply("here");
  });
  EXPECT_EQ(Open(server.Url("/there"))->Get().value(), "here");
  for (const std::string& path : std::vector<std::string>{"/file", "/gopher", "/round"}) {
    const absl::Status failure = Failure(server.Url(path));
    EXPECT_EQ(failure.code(), absl::StatusCode::kFailedPrecondition) << path << failure;
    EXPECT_THAT(failure.message(), HasSubstr("a redirect is not followed")) << path;
  }
}

TEST_F(HttpGetterTest, LoopbackHasNoProxy) {
  HttpServer proxy([](const std::string&) { return Reply("proxy"); });
  HttpServer server([](const std::string&) { return Reply("server"); });
  setenv("http_proxy", proxy.Url("").c_str(), 1);
  EXPECT_EQ(Open(server.Url("/"))->Get().value(), "server");
  EXPECT_EQ(Open("http://sbump.invalid/")->Get().value(), "proxy");
  setenv("no_proxy", "sbump.invalid", 1);
  EXPECT_EQ(Failure("http://sbump.invalid/").code(), absl::StatusCode::kUnavailable);
  unsetenv("http_proxy");
  unsetenv("no_proxy");
}

TEST_F(HttpGetterTest, IsStoppedFromAnotherThread) {
  StopSignal over, asked;
  HttpServer server([&](const std::string&) {
    asked.Set();
    return Never(over);
  });
  const auto getter = Open(server.Url("/"));
  std::thread stopper([&] {
    pollfd fd{asked.fd(), POLLIN, 0};
    poll(&fd, 1, 20'000);
    stop_.Set();
  });
  const uint64_t begin_ns = MonotonicNs();
  EXPECT_EQ(getter->Get().status().code(), absl::StatusCode::kCancelled);
  EXPECT_LT(MonotonicNs() - begin_ns, 10 * kSecondNs);  // the limit is 20 s
  stopper.join();
  over.Set();
}

}  // namespace
}  // namespace sbump
