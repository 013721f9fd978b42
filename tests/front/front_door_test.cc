// Whose call is whose: over the real front door and the real gRPC.
#include "daemon/front/front_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "daemon/base/fd.h"
#include "daemon/base/str_cat.h"
#include "tests/front/echo_server.h"

namespace sbump::test {
namespace {

using ::testing::HasSubstr;

TEST(FrontDoorTest, TheSocketIsItsOwnersAlone) {
  const SocketDirectory directory;
  const EchoServer server(directory.socket());
  struct stat st;
  ASSERT_EQ(stat(directory.socket().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600u);
  EXPECT_EQ(st.st_uid, geteuid());
}

TEST(FrontDoorTest, ACallerIsToldAsTheKernelKnowsIt) {
  const SocketDirectory directory;
  EchoServer server(directory.socket());
  EXPECT_EQ(WhoAmI(ConnectTo(directory.socket())),
            StrCat("uid ", geteuid(), " (pid ", getpid(), ")"));
}

TEST(FrontDoorTest, ConnectionsAreForgottenWhenTheyEnd) {
  const SocketDirectory directory;
  EchoServer server(directory.socket());
  std::vector<Fd> open;
  for (int i = 0; i < 300; ++i) open.emplace_back(ConnectTo(directory.socket()));
  const auto wait_for = [&](size_t count) {
    for (int i = 0; i < 1000 && server.connections().size() != count; ++i) usleep(10'000);
    return server.connections().size();
  };
  EXPECT_EQ(wait_for(300), 300u);
  open.clear();
  EXPECT_EQ(wait_for(0), 0u);
  EXPECT_THAT(WhoAmI(ConnectTo(directory.socket())), HasSubstr("uid "));
}

TEST(FrontDoorTest, WhatIsNotHttp2IsClosed) {
  const SocketDirectory directory;
  EchoServer server(directory.socket());
  const Fd fd(ConnectTo(directory.socket()));
  const std::string nonsense(100'000, 'x');
  (void)!write(fd.get(), nonsense.data(), nonsense.size());
  const timeval limit{20, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  char answer[4096];
  ssize_t count;
  while ((count = read(fd.get(), answer, sizeof(answer))) > 0) {
  }
  EXPECT_TRUE(count == 0 || errno == ECONNRESET) << errno;
  EXPECT_THAT(WhoAmI(ConnectTo(directory.socket())), HasSubstr("uid "));
}

TEST(FrontDoorTest, AMessageThatIsTooLargeIsRefused) {
  constexpr int kOk = 0, kResourceExhausted = 8;
  const SocketDirectory directory;
  EchoServer server(directory.socket());
  EXPECT_EQ(StatusOfLargeCall(ConnectTo(directory.socket()), 31 << 20), kOk);
  EXPECT_EQ(StatusOfLargeCall(ConnectTo(directory.socket()), 33 << 20), kResourceExhausted);
  EXPECT_THAT(WhoAmI(ConnectTo(directory.socket())), HasSubstr("uid "));
}

TEST(FrontDoorTest, ASecondOneIsRefused) {
  const SocketDirectory directory;
  EchoServer server(directory.socket());
  Connections connections;
  const auto second =
      FrontDoor::Open({.listen = {"unix:" + directory.socket()}}, connections, [](Fd) {});
  EXPECT_TRUE(absl::IsAlreadyExists(second.status())) << second.status();
  EXPECT_THAT(WhoAmI(ConnectTo(directory.socket())), HasSubstr("uid "));
}

}  // namespace
}  // namespace sbump::test
