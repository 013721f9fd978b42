// What happens to probes when the file behind the running code is deleted or replaced, as every
// package upgrade does. Needs root: /proc/PID/map_files and uprobes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "daemon/process/proc_maps.h"
#include "tests/process/child.h"

namespace sbump {
namespace {

// push %rbp; pop %rbp; ret
constexpr char kCode[] = "\x55\x5d\xc3";

void WriteCode(const std::string& path) {
  std::ofstream(path, std::ios::binary).write(kCode, sizeof kCode - 1);
}

[[noreturn]] void CallForEver(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* code = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  const auto function = reinterpret_cast<void (*)()>(code);
  while (true) {
    function();
    usleep(100);
  }
}

Mapping FindCode(const TargetProcess& process, const std::string& path) {
  Mapping found;
  Eventually([&] {
    const auto maps = ReadMaps(process);
    if (!maps.ok()) return false;
    const auto at = std::ranges::find(*maps, path, &Mapping::path);
    if (at == maps->end()) return false;
    found = *at;
    return true;
  });
  return found;
}

// A counting uprobe on the first byte of `path`, for one process.
Fd PlaceProbe(const std::string& path, pid_t pid) {
  int type = -1;
  std::ifstream("/sys/bus/event_source/devices/uprobe/type") >> type;
  perf_event_attr attr = {};
  attr.size = sizeof attr;
  attr.type = static_cast<uint32_t>(type);
  attr.config1 = reinterpret_cast<uint64_t>(path.c_str());
  return Fd(
      static_cast<int>(syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

bool IsHit(const Fd& probe) {
  return Eventually([&] {
    uint64_t hits = 0;
    return read(probe.get(), &hits, sizeof hits) == sizeof hits && hits > 10;
  });
}

class MappedFileLiveTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(geteuid(), 0u) << "needs root; run with --config=live";
    path_ = "/tmp/sbump_mapped_" + std::to_string(getpid());
    WriteCode(path_);
  }
  void TearDown() override { unlink(path_.c_str()); }

  // The path to probe that OpenMappedFile() gives, proven by hits.
  std::string ProbedPath(const Child& child, const Mapping& code) {
    const auto process = TargetProcess::Open(child.pid());
    EXPECT_TRUE(process.ok()) << process.status();
    std::string opened_path;
    const auto file = OpenMappedFile(*process, code, &opened_path);
    EXPECT_TRUE(file.ok()) << file.status();
    if (!file.ok()) return "";
    char bytes[sizeof kCode] = {};
    EXPECT_EQ(read(file->get(), bytes, sizeof bytes), static_cast<ssize_t>(sizeof kCode - 1));
    EXPECT_STREQ(bytes, kCode);
    const Fd probe = PlaceProbe(opened_path, child.pid());
    EXPECT_TRUE(probe.valid() && IsHit(probe)) << opened_path;
    return opened_path;
  }

  std::string path_;
};

TEST_F(MappedFileLiveTest, AnUntouchedFileIsProbedThroughTheTargetsRoot) {
  Child child([this] { CallForEver(path_); });
  const Mapping code = FindCode(*TargetProcess::Open(child.pid()), path_);
  EXPECT_EQ(ProbedPath(child, code), "/proc/" + std::to_string(child.pid()) + "/root" + path_);
}

TEST_F(MappedFileLiveTest, ADeletedFileIsProbedThroughItsMapping) {
  Child child([this] { CallForEver(path_); });
  ASSERT_NE(FindCode(*TargetProcess::Open(child.pid()), path_).inode, 0u);
  unlink(path_.c_str());
  const Mapping code = FindCode(*TargetProcess::Open(child.pid()), path_);
  EXPECT_TRUE(code.deleted);
  EXPECT_NE(ProbedPath(child, code).find("/map_files/"), std::string::npos);
}

TEST_F(MappedFileLiveTest, AReplacedFileIsProbedThroughItsMapping) {
  Child child([this] { CallForEver(path_); });
  ASSERT_NE(FindCode(*TargetProcess::Open(child.pid()), path_).inode, 0u);
  const std::string upgrade = path_ + ".new";
  WriteCode(upgrade);
  ASSERT_EQ(rename(upgrade.c_str(), path_.c_str()), 0);
  const Mapping code = FindCode(*TargetProcess::Open(child.pid()), path_);
  EXPECT_NE(ProbedPath(child, code).find("/map_files/"), std::string::npos);
}

TEST_F(MappedFileLiveTest, APathTurnedIntoALinkIsNotFollowed) {
  Child child([this] { CallForEver(path_); });
  ASSERT_NE(FindCode(*TargetProcess::Open(child.pid()), path_).inode, 0u);
  const std::string moved = path_ + ".moved";
  ASSERT_EQ(rename(path_.c_str(), moved.c_str()), 0);
  ASSERT_EQ(symlink(moved.c_str(), path_.c_str()), 0);
  Mapping code = FindCode(*TargetProcess::Open(child.pid()), moved);
  code.path = path_;
  EXPECT_NE(ProbedPath(child, code).find("/map_files/"), std::string::npos);
  unlink(moved.c_str());
}

TEST_F(MappedFileLiveTest, KernelThreadsAreNoTargets) {
  const absl::Status status = TargetProcess::Open(2).status();  // kthreadd, outside containers
  if (absl::IsNotFound(status)) GTEST_SKIP() << "no kernel threads in this pid namespace";
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
}

}  // namespace
}  // namespace sbump
