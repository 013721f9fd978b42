// Whose call is whose: over the real front door and the real gRPC.
#include "daemon/front/front_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "daemon/base/fd.h"
#include "daemon/base/str_cat.h"
#include "tests/front/echo_server.h"

namespace sbump::test {
namespace {

using ::testing::EndsWith;
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

// Takes an abstract Unix name, as any user can.
Fd TakeName(const std::string& name) {
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path + 1, name.data(), name.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), bytes), 0) << name;
  return fd;
}

// The names of connections are in /proc/net/unix for all to read.
TEST(FrontDoorTest, NobodyCanTakeTheNameOfAConnectionToCome) {
  const SocketDirectory directory;
  EchoServer server(directory.socket());
  const Fd first(ConnectTo(directory.socket()));
  for (int i = 0; i < 1000 && server.connections().size() != 1; ++i) usleep(10'000);
  const std::string name = server.connections().NameOf(1);
  ASSERT_THAT(name, EndsWith("-1"));
  std::vector<Fd> taken;
  for (int number = 2; number < 100; ++number)
    taken.push_back(TakeName(StrCat(name.substr(0, name.size() - 1), number)));
  for (int i = 0; i < 10; ++i)
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
  const auto second = FrontDoor::Open({.listen = {"unix:" + directory.socket()}}, connections,
                                      [](Fd, const Caller&) {});
  EXPECT_TRUE(absl::IsAlreadyExists(second.status())) << second.status();
  EXPECT_THAT(WhoAmI(ConnectTo(directory.socket())), HasSubstr("uid "));
}

}  // namespace
}  // namespace sbump::test
