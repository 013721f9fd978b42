#include "daemon/process/silent_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fakes/temp_dir.h"

namespace sbump {
namespace {

TEST(MountinfoTest, KnowsWhichFileSystemsWaitForAServer) {
  const std::map<uint64_t, bool> devices = ParseMountinfo(
      "26 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "40 26 0:31 / /mnt/a\\040b rw,nosuid - fuse.sshfs host:/ rw,user_id=0\n"
      "41 26 0:32 / /mnt/nfs rw shared:2 master:1 - nfs4 host:/x rw\n"
      "42 26 0:33 / /overlay rw - overlay overlay rw,lowerdir=/a:/b\n");
  const std::map<uint64_t, bool> expected = {{makedev(8, 1), false},
                                             {makedev(0, 31), true},
                                             {makedev(0, 32), true},
                                             {makedev(0, 33), false}};
  EXPECT_EQ(devices, expected);
}

TEST(MountinfoTest, LeavesOutWhatItCannotRead) {
  EXPECT_TRUE(ParseMountinfo("").empty());
  EXPECT_TRUE(ParseMountinfo("\n \n26 1\n26 1 8:1 / / rw ext4\n26 1 x:1 / / rw - ext4 a b\n"
                             "26 1 81 / / rw - ext4 a b\n26 1 8:1 / / rw -")
                  .empty());
}

// A /proc/PID of a process that has one page, of a file on a device that no mount shows.
class SilentPagesTest : public testing::Test {
 protected:
  static constexpr RemoteAddr kPage{0x10000};

  SilentPagesTest() {
    Put("mountinfo", "");
    Put("maps", "10000-11000 r--p 00000000 00:77 5 /gone\n");
    PutPagemap(false);
  }
  void Put(const std::string& name, const std::string& text) {
    std::ofstream(dir_.path() + "/" + name, std::ios::binary) << text;
  }
  void PutPagemap(bool present) {
    std::vector<uint64_t> entries(32);
    entries[kPage.value / 4096] = present ? uint64_t{1} << 63 : 0;
    Put("pagemap", {reinterpret_cast<const char*>(entries.data()), entries.size() * 8});
  }
  absl::Status Check(size_t size = 8) {
    const Fd dir(open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY));
    const auto pages = SilentPages::Open(dir.get(), 1);
    return pages.ok() ? pages->Check(kPage, size) : pages.status();
  }

 private:
  const TempDir dir_{"silent_pages"};
};

TEST_F(SilentPagesTest, AreNotRead) {
  EXPECT_EQ(Check().code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(Check().message().find("/gone"), std::string::npos);
}

TEST_F(SilentPagesTest, WhatIsInMemoryIsRead) {
  PutPagemap(true);
  EXPECT_TRUE(Check().ok()) << Check();
  EXPECT_TRUE(Check(4096).ok()) << Check(4096);
}

TEST_F(SilentPagesTest, AFewBytesInMemoryAreReadWithoutALookAtAllThatIsMapped) {
  PutPagemap(true);
  Put("maps", "no mapping\n");
  EXPECT_TRUE(Check().ok()) << Check();
  EXPECT_FALSE(Check(4097).ok());
}

}  // namespace
}  // namespace sbump
