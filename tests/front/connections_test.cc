#include "daemon/front/connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;

Caller Local(uid_t uid, pid_t pid = 77) { return {.uid = uid, .pid = pid}; }

std::string PeerOf(const Connections& connections, uint64_t number) {
  return "unix-abstract:" + connections.NameOf(number);
}

TEST(ConnectionsTest, ACallIsItsConnections) {
  Connections connections;
  const uint64_t first = *connections.Add(Local(1000, 11));
  const uint64_t second = *connections.Add(Local(1001, 12));
  EXPECT_EQ(connections.Find(PeerOf(connections, first))->uid, 1000u);
  EXPECT_EQ(connections.Find(PeerOf(connections, first))->pid, 11);
  EXPECT_EQ(connections.Find(PeerOf(connections, second))->uid, 1001u);
  EXPECT_EQ(connections.Find(PeerOf(connections, second))->connection, second);
}

// gRPC may deliver a call when its connection has ended and another one began.
TEST(ConnectionsTest, ALateCallOfAConnectionThatIsGoneIsNobodys) {
  Connections connections;
  const uint64_t gone = *connections.Add(Local(1000));
  const std::string peer = PeerOf(connections, gone);
  connections.Remove(gone);
  for (int i = 0; i < 1000; ++i) EXPECT_NE(*connections.Add(Local(0)), gone);
  EXPECT_TRUE(absl::IsUnauthenticated(connections.Find(peer).status()));
}

TEST(ConnectionsTest, NamesOfOtherMakersAreNobodys) {
  Connections connections, others;
  const uint64_t number = *connections.Add(Local(0));
  const std::string name = connections.NameOf(number);
  for (const std::string& peer :
       {std::string(), std::string("unix:"), "unix:" + name, name, "unix-abstract:" + name + "0",
        "unix-abstract:" + name + " ", "unix-abstract:" + others.NameOf(number),
        std::string("ipv4:127.0.0.1:1"), std::string("fd:7"), std::string("unix-abstract:")}) {
    EXPECT_TRUE(absl::IsUnauthenticated(connections.Find(peer).status())) << peer;
  }
  EXPECT_TRUE(connections.Find("unix-abstract:" + name).ok());
}

TEST(ConnectionsTest, OneCallerCannotTakeAll) {
  Connections connections;
  std::vector<uint64_t> mine;
  for (size_t i = 0; i < Connections::kMostOfOneCaller; ++i)
    mine.push_back(*connections.Add(Local(1000)));
  const absl::Status status = connections.Add(Local(1000)).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("uid 1000"));
  EXPECT_TRUE(connections.Add(Local(1001)).ok());
  connections.Remove(mine.back());
  EXPECT_TRUE(connections.Add(Local(1000)).ok());
}

TEST(ConnectionsTest, RootGetsInWhenAllAreTaken) {
  Connections connections;
  for (uid_t uid = 1; connections.size() < Connections::kMost; ++uid)
    for (size_t i = 0; i < Connections::kMostOfOneCaller; ++i) connections.Add(Local(uid)).value();
  EXPECT_TRUE(absl::IsResourceExhausted(connections.Add(Local(77)).status()));
  for (size_t i = 0; i < Connections::kSpareForRoot; ++i)
    EXPECT_TRUE(connections.Add(Local(0)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(connections.Add(Local(0)).status()));
  // A certificate is never root, whatever it says.
  Caller remote{.kind = Caller::Kind::kCertificate, .uid = 0, .names = {"dns:root"}};
  EXPECT_FALSE(connections.Add(remote).ok());
}

}  // namespace
}  // namespace sbump
