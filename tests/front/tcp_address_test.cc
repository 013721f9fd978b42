#include "daemon/front/tcp_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbump {
namespace {

using ::testing::HasSubstr;

TEST(TcpAddressTest, Addresses) {
  const auto four = ResolveTcpEndpoint("tcp:127.0.0.1:7443", false);
  ASSERT_TRUE(four.ok()) << four.status();
  ASSERT_EQ(four->size(), 1u);
  EXPECT_EQ(four->front().address().to_string(), "127.0.0.1");
  EXPECT_EQ(four->front().port(), 7443);
  EXPECT_EQ(ResolveTcpEndpoint("tcp:[::1]:7443", false)->front().address().to_string(), "::1");
  EXPECT_EQ(ResolveTcpEndpoint("tcp:[::ffff:127.0.0.1]:7443", false)->front(), four->front());
}

TEST(TcpAddressTest, EveryInterfaceOnlyWhenAsked) {
  for (const char* endpoint : {"tcp:0.0.0.0:7443", "tcp:[::]:7443", "tcp:0:7443",
                               "tcp:[::ffff:0.0.0.0]:7443", "tcp:[::ffff:0:0]:7443"}) {
    const absl::Status status = ResolveTcpEndpoint(endpoint, false).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << endpoint;
    EXPECT_THAT(std::string(status.message()), HasSubstr("--listen-any")) << endpoint;
    EXPECT_TRUE(ResolveTcpEndpoint(endpoint, true).ok()) << endpoint;
  }
}

TEST(TcpAddressTest, Mistakes) {
  for (const char* endpoint :
       {"tcp:", "tcp:7443", "tcp::7443", "tcp:[]:7443", "tcp:host:", "tcp:host:x", "tcp:host:65536",
        "tcp:::1:7443", "tcp:no.such.host.invalid:7443"}) {
    const absl::Status status = ResolveTcpEndpoint(endpoint, true).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << endpoint;
    EXPECT_THAT(std::string(status.message()), HasSubstr(endpoint));
  }
}

}  // namespace
}  // namespace sbump
