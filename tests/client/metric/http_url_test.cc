#include "client/metric/http_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbump {
namespace {

TEST(HttpUrlTest, Loopback) {
  for (const std::string& url :
       std::vector<std::string>{"http://localhost/", "http://127.0.0.1:80/m", "http://127.1.2.3",
                                "https://[::1]:8/m", "http://a.localhost/", "http://LOCALHOST/"})
    EXPECT_TRUE(ParseHttpUrl(url)->is_loopback) << url;
  for (const std::string& url : std::vector<std::string>{
           "http://10.0.0.1/", "http://localhost.example/", "https://[2001:db8::1]/", "http://h"})
    EXPECT_FALSE(ParseHttpUrl(url)->is_loopback) << url;
}

TEST(HttpUrlTest, UnixSocket) {
  const auto url = ParseHttpUrl("unix:/run/a b.sock:/metrics?x=1");
  EXPECT_FALSE(url.ok());  // white space
  const auto good = ParseHttpUrl("unix:/run/a.sock:/metrics?x=1");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->unix_socket, "/run/a.sock");
  EXPECT_EQ(good->url, "http://localhost/metrics?x=1");
  EXPECT_TRUE(good->is_loopback);
}

TEST(HttpUrlTest, Mistakes) {
  for (const std::string& url : std::vector<std::string>{
           "", "h/m", "ftp://h", "file:///etc/passwd", "http://", "http:///m", "http://h:x/",
           "http://h:99999/", "http://h/ m", "http://h/\n", "unix:run:/m", "unix:/run/a.sock",
           "http://u@h/", "http://u:p@h/", "http://:p@h/", "http://h/" + std::string(5000, 'x')}) {
    const auto parsed = ParseHttpUrl(url);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << url;
  }
}

TEST(HttpUrlTest, WithoutPassword) {
  EXPECT_EQ(WithoutPassword("http://u:p@h/x@y"), "http://...@h/x@y");
  EXPECT_EQ(WithoutPassword("prom:ftp://u:p@q@h#x"), "prom:ftp://...@h#x");
  EXPECT_EQ(WithoutPassword("http://h/x@y"), "http://h/x@y");
  EXPECT_EQ(WithoutPassword("a@b"), "a@b");
  EXPECT_EQ(WithoutPassword("http://u:p@"), "http://...@");
}

}  // namespace
}  // namespace sbump
