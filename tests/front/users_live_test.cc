// Whose call is whose, with several users at once (root).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "daemon/base/str_cat.h"
#include "tests/front/echo_server.h"

namespace sbump::test {
namespace {

using ::testing::HasSubstr;

void OpenToAll(const std::string& path) {
  chmod(path.substr(0, path.rfind('/')).c_str(), 0755);
  chmod(path.c_str(), 0666);
}

// Of this thread alone: glibc's own would change all of them.
void BecomeUser(uid_t uid) { ASSERT_EQ(syscall(SYS_setresuid, -1, uid, -1), 0); }

// Twelve users connect, call and go, all at once and 60 times each, so that descriptors, gRPC's
// transports and kernel objects are reused by others all the time.
TEST(FrontDoorTest, UsersAreNeverConfused) {
  const SocketDirectory directory;
  EchoServer server(directory.socket());
  OpenToAll(directory.socket());
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (uid_t uid = 40001; uid <= 40012; ++uid) {
    threads.emplace_back([&, uid] {
      BecomeUser(uid);
      const std::string expected = StrCat("uid ", uid, " (pid ", getpid(), ")");
      for (int i = 0; i < 60; ++i) {
        const std::string answer = WhoAmI(ConnectTo(directory.socket()));
        EXPECT_EQ(answer, expected);
        right += answer == expected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 12 * 60);
}

// What a process does after it connected, or to whom it gives its descriptor, changes nothing.
TEST(FrontDoorTest, WhoConnectedCounts) {
  const SocketDirectory directory;
  EchoServer server(directory.socket());
  OpenToAll(directory.socket());
  int fd = -1;
  std::thread([&] {
    BecomeUser(40001);
    fd = ConnectTo(directory.socket());
  }).join();
  EXPECT_THAT(WhoAmI(fd), HasSubstr("uid 40001 "));
}

}  // namespace
}  // namespace sbump::test
