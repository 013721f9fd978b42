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

TEST(ParseEndpoint, RefusesTheRest) {
  for (const char* text : {"", "unix:", "unix://host/x", "tcp:host:1", "/run/x.sock"}) {
    EXPECT_FALSE(ParseEndpoint(text).ok()) << text;
  }
  EXPECT_TRUE(ParseEndpoint("unix:/" + std::string(106, 'x')).ok());
  EXPECT_FALSE(ParseEndpoint("unix:/" + std::string(107, 'x')).ok()) << "too long for a socket";
}

}  // namespace
}  // namespace sbump
