#include "daemon/process/proc_maps.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <string>

#include "tests/process/child.h"

namespace sbump {
namespace {

Mapping Parse(const std::string& line) {
  const auto maps = ParseMaps(line);
  EXPECT_TRUE(maps.ok()) << maps.status();
  return maps.ok() && maps->size() == 1 ? maps->front() : Mapping{};
}

TEST(ParseMapsTest, ReadsEveryField) {
  const Mapping m = Parse(
      "7f0c8a228000-7f0c8a37d000 r-xp 00026000 fe:12 10953027                   /usr/lib/x.so\n");
  EXPECT_EQ(m.start.value, 0x7f0c8a228000u);
  EXPECT_EQ(m.end.value, 0x7f0c8a37d000u);
  EXPECT_TRUE(m.readable && m.executable && !m.writable);
  EXPECT_EQ(m.file_offset, 0x26000u);
  EXPECT_EQ(m.device, makedev(0xfe, 0x12));
  EXPECT_EQ(m.inode, 10953027u);
  EXPECT_EQ(m.path, "/usr/lib/x.so");
  EXPECT_FALSE(m.deleted);
}

TEST(ParseMapsTest, NamesMayBeStrange) {
  EXPECT_EQ(Parse("1000-2000 rw-s 0 0:1 5 /tmp/a b  c\n").path, "/tmp/a b  c");
  EXPECT_EQ(Parse("1000-2000 rw-p 0 0:1 5 /tmp/a\\012b\n").path, "/tmp/a\nb");
  EXPECT_EQ(Parse("1000-2000 rw-p 0 0:1 5 /tmp/\\01\n").path, "/tmp/\\01");
  EXPECT_EQ(Parse("1000-2000 rw-p 0 0:1 5 /tmp/\xff\xfe\n").path, "/tmp/\xff\xfe");
  const Mapping deleted = Parse("1000-2000 r-xp 0 0:1 5 /usr/bin/python3.11 (deleted)\n");
  EXPECT_EQ(deleted.path, "/usr/bin/python3.11");
  EXPECT_TRUE(deleted.deleted);
  EXPECT_FALSE(Parse("1000-2000 r-xp 0 0:0 0 [anon:x (deleted)\n").deleted);
}

TEST(ParseMapsTest, SomeMappingsHaveNoFile) {
  EXPECT_EQ(Parse("1000-2000 rw-p 00000000 00:00 0 \n").path, "");
  EXPECT_EQ(Parse("1000-2000 rw-p 00000000 00:00 0\n").path, "");
  EXPECT_EQ(Parse("1000-2000 rw-p 00000000 00:00 0      [heap]\n").path, "[heap]");
  EXPECT_EQ(Parse("7ffffffff000-800000000000 --xp 0 00:00 0   [uprobes]\n").path, "[uprobes]");
  EXPECT_EQ(Parse("ffffffffff600000-ffffffffff601000 --xp 0 00:00 0 [vsyscall]").path,
            "[vsyscall]");
  EXPECT_TRUE(ParseMaps("")->empty());
}

TEST(ParseMapsTest, ALineThatDoesNotParseIsNamed) {
  for (const char* line :
       {"\n", "x\n", "1000 rw-p 0 0:0 0\n", "2000-1000 rw-p 0 0:0 0\n", "1000-1000 rw-p 0 0:0 0\n",
        "1000-2000 rw?p 0 0:0 0\n", "1000-2000 rw-\n", "1000-2000 rw-p 0 0-0 0\n",
        "1000-2000 rw-p 0 0:0 abc\n", "11112222333344445-2 rw-p 0 0:0 0\n",
        "1000-2000 rw-p 0 111111111:0 0\n"}) {
    const auto maps = ParseMaps(std::string("1000-2000 rw-p 0 0:0 0\n") + line);
    EXPECT_TRUE(absl::IsDataLoss(maps.status())) << line;
    EXPECT_NE(maps.status().message().find("line 2"), absl::string_view::npos) << maps.status();
  }
}

TEST(ParseMapsTest, TooManyLinesAreRefused) {
  std::string text;
  for (size_t i = 0; i <= kMaxMappings; ++i) text += "1000-2000 rw-p 0 0:0 0\n";
  EXPECT_TRUE(absl::IsResourceExhausted(ParseMaps(text).status()));
}

TEST(MappedFileTest, OpensTheProgramOfAChild) {
  Child child([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  ASSERT_TRUE(process.ok()) << process.status();
  const auto maps = ReadMaps(*process);
  ASSERT_TRUE(maps.ok()) << maps.status();
  const auto code = std::ranges::find_if(*maps, [](const Mapping& m) {
    return m.executable && m.path.find("proc_maps_test") != std::string::npos;
  });
  ASSERT_NE(code, maps->end());
  std::string path;
  const auto file = OpenMappedFile(*process, *code, &path);
  ASSERT_TRUE(file.ok()) << file.status();
  struct stat opened;
  struct stat own;
  ASSERT_EQ(fstat(file->get(), &opened), 0);
  ASSERT_EQ(stat("/proc/self/exe", &own), 0);
  EXPECT_EQ(opened.st_ino, own.st_ino);
  EXPECT_EQ(path, "/proc/" + std::to_string(child.pid()) + "/root" + code->path);
}

TEST(MappedFileTest, RefusesWhatIsNotTheMappedFile) {
  Child child([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  Mapping none = {.start = {0x1000}, .end = {0x2000}};
  EXPECT_TRUE(absl::IsInvalidArgument(OpenMappedFile(*process, none, nullptr).status()));
  Mapping other = none;
  other.inode = 1;
  for (const char* path : {"/usr/bin/python3", "/no/such/file", "/dev/zero", "relative", ""}) {
    other.path = path;
    const auto status = OpenMappedFile(*process, other, nullptr).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << path << ": " << status;
  }
}

TEST(MappedFileTest, OpensNeitherFifoNorDevice) {
  const std::string fifo = testing::TempDir() + "/sbump_fifo_" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  Child child([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  for (const std::string& path : {fifo, std::string("/dev/null")}) {
    struct stat st;
    ASSERT_EQ(stat(path.c_str(), &st), 0);
    const Mapping claim = {.start = {0x1000}, .end = {0x2000}, .inode = st.st_ino, .path = path};
    const auto status = OpenMappedFile(*process, claim, nullptr).status();
    EXPECT_TRUE(absl::IsUnimplemented(status)) << path << ": " << status;
  }
  unlink(fifo.c_str());
}

}  // namespace
}  // namespace sbump
