#include "client/endpoint.h"

#include "gtest/gtest.h"

namespace sbump {
namespace {

TEST(ParseEndpoint, TakesUnixPaths) {
  EXPECT_EQ(ParseEndpoint("unix:/run/x.sock")->path, "/run/x.sock");
  EXPECT_EQ(ParseEndpoint("unix:///run/x.sock")->path, "/run/x.sock");
  EXPECT_EQ(ParseEndpoint("unix:x.sock")->ToString(), "unix:x.sock");
  EXPECT_TRUE(ParseEndpoint(kDefaultEndpoint).ok());
}

TEST(ParseEndpoint, TakesHostsAndPorts) {
  EXPECT_EQ(ParseEndpoint("gpu-1.example:7443")->host, "gpu-1.example");
  EXPECT_EQ(ParseEndpoint("gpu-1.example:7443")->port, "7443");
  EXPECT_EQ(ParseEndpoint("tcp:10.0.0.1:7443")->ToString(), "10.0.0.1:7443");
  EXPECT_EQ(ParseEndpoint("[::1]:7443")->host, "::1");
  EXPECT_EQ(ParseEndpoint("[::1]:7443")->ToString(), "[::1]:7443");
  EXPECT_FALSE(ParseEndpoint("host:1")->IsUnix());
}

TEST(ParseEndpoint, TakesHostsThatAreNamedLikeASchemeForWhatTheyAre) {
  for (const char* text : {"tcp:unix:7434", "[unix]:7434"}) {
    const Endpoint endpoint = *ParseEndpoint(text);
    EXPECT_EQ(endpoint.host, "unix") << text;
    EXPECT_EQ(endpoint.HostPort(), "unix:7434") << text;
    EXPECT_EQ(endpoint.ToString(), "tcp:unix:7434") << text;
  }
  EXPECT_EQ(ParseEndpoint("tcp:tcp:1")->host, "tcp");
  EXPECT_EQ(ParseEndpoint("tcp:tcp:1")->ToString(), "tcp:tcp:1");
}

TEST(ParseEndpoint, RefusesTheRest) {
  for (const char* text : {"", "unix:", "unix://host/x", "/run/x.sock", "host", "host:", ":1",
                           "host:0", "host:65536", "host:1x", "::1:7", "[::1]", "[]:7", "a b:7",
                           "host/x:7", "tcp:", "tcp:host", "http://host:7"}) {
    EXPECT_FALSE(ParseEndpoint(text).ok()) << text;
  }
  EXPECT_TRUE(ParseEndpoint("unix:/" + std::string(106, 'x')).ok());
  EXPECT_FALSE(ParseEndpoint("unix:/" + std::string(107, 'x')).ok()) << "too long for a socket";
}

}  // namespace
}  // namespace sbump
