#include "daemon/process/elf_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/process/small_elf.h"

namespace sbump {
namespace {

constexpr uint64_t kBase = 0x400000;

absl::StatusOr<ElfFile> Open(const SmallElf& elf) {
  return ElfFile::Open(FileWith(elf.bytes()), "small");
}

absl::StatusOr<ElfFile> OpenPath(const std::string& path) {
  return ElfFile::Open(Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)), path);
}

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Asks for everything; what it finds in a damaged file does not matter, only that it returns.
void UseAll(const absl::StatusOr<ElfFile>& elf) {
  if (!elf.ok()) return;
  elf->FindSymbol("code");
  for (const auto& pointer : elf->CodePointers()) {
    EXPECT_TRUE(elf->IsExecutable(pointer.code_vaddr));
    EXPECT_TRUE(elf->BytesAt(pointer.place_vaddr, 8).ok());
  }
  for (const ElfSegment& segment : elf->segments()) {
    elf->BytesFrom(segment.vaddr, segment.memory_size);
    (void)elf->FileOffset(segment.vaddr + segment.file_size);
  }
}

TEST(ElfFileTest, ReadsAProgramWithoutSectionHeaders) {
  const auto elf = Open(SmallElf(ET_EXEC, kBase));
  ASSERT_TRUE(elf.ok()) << elf.status();
  EXPECT_FALSE(elf->position_independent());
  EXPECT_EQ(elf->build_id(), "deadbeef");
  ASSERT_EQ(elf->segments().size(), 3u);
  EXPECT_TRUE(elf->segments()[1].executable);
  EXPECT_TRUE(elf->segments()[2].writable);
}

constexpr uint64_t kLarge = 0x100000, kLargeBytes = uint64_t{300} << 20;
constexpr std::string_view kAtItsEnd = "the end";

// With 300 MiB that nothing was ever written to, but at their end.
Fd LargeFile(uint32_t flags) {
  SmallElf small(ET_DYN, 0);
  small.AddSegment(flags, kLarge, kLargeBytes);
  Fd file = FileWith(small.bytes());
  EXPECT_EQ(ftruncate(file.get(), static_cast<off_t>(kSmallFileBytes + kLargeBytes)), 0);
  EXPECT_EQ(pwrite(file.get(), kAtItsEnd.data(), kAtItsEnd.size(),
                   static_cast<off_t>(kSmallFileBytes + kLargeBytes - kAtItsEnd.size())),
            static_cast<ssize_t>(kAtItsEnd.size()));
  return file;
}

TEST(ElfFileTest, ReadsOfALargeFileWhatIsAskedFor) {
  const auto elf = ElfFile::Open(LargeFile(PF_R), "large");
  ASSERT_TRUE(elf.ok()) << elf.status();
  EXPECT_TRUE(elf->FindSymbol("code"));
  EXPECT_FALSE(elf->CodePointers().empty());
  const auto end = elf->BytesAt(kLarge + kLargeBytes - kAtItsEnd.size(), kAtItsEnd.size());
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(std::memcmp(end->data(), kAtItsEnd.data(), kAtItsEnd.size()), 0);
  EXPECT_EQ(elf->BytesFrom(kLarge + kLargeBytes - 4, 100).size(), 4u);
  EXPECT_TRUE(elf->BytesFrom(kLarge + kLargeBytes, 1).empty());
  EXPECT_FALSE(elf->was_unreadable());
  // So many are read of the whole file, and no more.
  EXPECT_EQ(elf->BytesFrom(kLarge, uint64_t{120} << 20).size(), uint64_t{120} << 20);
  EXPECT_FALSE(elf->was_unreadable());
  EXPECT_TRUE(elf->BytesFrom(kLarge + (uint64_t{120} << 20), uint64_t{10} << 20).empty());
  EXPECT_TRUE(elf->was_unreadable());
}

TEST(ElfFileTest, SaysWhereALargeFileIsCutShort) {
  Fd file = LargeFile(PF_R);
  const Fd same(dup(file.get()));
  const auto elf = ElfFile::Open(std::move(file), "large");
  ASSERT_TRUE(elf.ok()) << elf.status();
  ASSERT_EQ(ftruncate(same.get(), kSmallFileBytes), 0);
  EXPECT_TRUE(elf->BytesAt(kSmallCode, 8).ok());
  EXPECT_FALSE(elf->was_unreadable());
  EXPECT_FALSE(elf->BytesAt(kLarge, 8).ok());
  EXPECT_TRUE(elf->was_unreadable());
}

TEST(ElfFileTest, RefusesTooMuchCode) {
  const auto elf = ElfFile::Open(LargeFile(PF_R | PF_X), "large");
  EXPECT_TRUE(absl::IsResourceExhausted(elf.status())) << elf.status();
}

TEST(ElfFileTest, FindsDefinedSymbolsOnly) {
  const auto elf = Open(SmallElf(ET_DYN, 0));
  ASSERT_TRUE(elf.ok()) << elf.status();
  const auto code = elf->FindSymbol("code");
  ASSERT_TRUE(code);
  EXPECT_EQ(code->vaddr, kSmallCode + 0x10);
  EXPECT_EQ(code->size, 0x20u);
  EXPECT_TRUE(elf->FindSymbol("data"));
  EXPECT_FALSE(elf->FindSymbol("outside"));
  EXPECT_FALSE(elf->FindSymbol(""));
}

TEST(ElfFileTest, FindsSymbolsByTheOldHashTableToo) {
  SmallElf small(ET_DYN, 0);
  small.Put(kSmallDataInFile + 3 * sizeof(Elf64_Dyn), Elf64_Dyn{DT_HASH, {kSmallSysvHash}});
  const auto elf = Open(small);
  ASSERT_TRUE(elf.ok()) << elf.status();
  EXPECT_TRUE(elf->FindSymbol("code"));
}

TEST(ElfFileTest, BytesLieInTheFileBackedPartOfOneSegment) {
  const auto elf = Open(SmallElf(ET_EXEC, kBase));
  ASSERT_TRUE(elf.ok()) << elf.status();
  EXPECT_TRUE(elf->BytesAt(kBase + kSmallCode, 0x1000).ok());
  EXPECT_FALSE(elf->BytesAt(kBase + kSmallCode, 0x1001).ok());
  EXPECT_FALSE(elf->BytesAt(kBase + kSmallData + 0x1000, 1).ok()) << "zero-filled, not in the file";
  EXPECT_FALSE(elf->BytesAt(UINT64_MAX, 2).ok());
  EXPECT_EQ(elf->BytesFrom(kBase + kSmallCode + 0xff0, 100).size(), 0x10u);
  EXPECT_EQ(elf->BytesFrom(0, 100).size(), 0u);
  EXPECT_EQ(*elf->FileOffset(kBase + kSmallWords), kSmallWords - 0x1000);
  EXPECT_FALSE(elf->FileOffset(kBase + kSmallData + 0x1000).ok());
  EXPECT_TRUE(elf->IsExecutable(kBase + kSmallCode));
  EXPECT_FALSE(elf->IsExecutable(kBase));
}

TEST(ElfFileTest, CodePointersOfALibraryAreItsRelativeRelocations) {
  const auto elf = Open(SmallElf(ET_DYN, 0));
  ASSERT_TRUE(elf.ok()) << elf.status();
  std::vector<std::pair<uint64_t, uint64_t>> found;
  for (const auto& p : elf->CodePointers()) found.emplace_back(p.place_vaddr, p.code_vaddr);
  const std::vector<std::pair<uint64_t, uint64_t>> expected = {
      {kSmallWords, kSmallCode + 0x10},
      {kSmallWords + 8, kSmallCode + 0x40},
      {kSmallWords + 0x100, kSmallCode + 0x80},
      {kSmallWords + 0x108, kSmallCode + 0x81},
      {kSmallWords + 0x118, kSmallCode + 0x83}};
  EXPECT_EQ(found, expected);
}

TEST(ElfFileTest, CodePointersOfAFixedProgramAreItsAlignedWords) {
  SmallElf small(ET_EXEC, kBase);
  small.PutWord(kSmallWords + 0x204, kBase + kSmallCode);  // not aligned
  const auto elf = Open(small);
  ASSERT_TRUE(elf.ok()) << elf.status();
  const auto pointers = elf->CodePointers();
  const auto at = [&](uint64_t place) {
    return std::ranges::any_of(pointers, [&](const auto& p) { return p.place_vaddr == place; });
  };
  EXPECT_TRUE(at(kBase + kSmallWords + 0x100));
  EXPECT_FALSE(at(kBase + kSmallWords + 0x204));
}

TEST(ElfFileTest, SaysWhatItFoundInsteadOfAProgram) {
  SmallElf arm(ET_EXEC, kBase);
  arm.Put(offsetof(Elf64_Ehdr, e_machine), uint16_t{EM_AARCH64});
  SmallElf core(ET_CORE, kBase);
  SmallElf narrow(ET_EXEC, kBase);
  narrow.bytes()[EI_CLASS] = ELFCLASS32;
  SmallElf text(ET_EXEC, kBase);
  text.bytes() = "#!/bin/sh\n";
  SmallElf empty(ET_EXEC, kBase);
  empty.bytes().clear();
  for (const SmallElf& elf : {arm, core, narrow, text, empty}) {
    EXPECT_TRUE(absl::IsUnimplemented(Open(elf).status())) << Open(elf).status();
  }
  EXPECT_TRUE(absl::IsUnimplemented(OpenPath("/dev/null").status()));
  EXPECT_TRUE(absl::IsUnimplemented(OpenPath("/proc").status()));
}

TEST(ElfFileTest, ATruncatedFileIsRefused) {
  SmallElf small(ET_EXEC, kBase);
  small.bytes().resize(kSmallFileBytes - 1);
  EXPECT_TRUE(absl::IsDataLoss(Open(small).status())) << Open(small).status();
}

TEST(ElfFileTest, NoDamageToItsTablesCrashesTheReader) {
  for (const uint16_t type : {ET_DYN, ET_EXEC}) {
    const SmallElf whole(type, type == ET_DYN ? 0 : kBase);
    for (size_t at = 0; at < kSmallFileBytes; ++at) {
      const bool table = at < 0x720 || (at >= kSmallDataInFile && at < kSmallDataInFile + 0x100);
      if (!table) continue;
      for (const char damage : {'\xff', '\x80', '\x01'}) {
        SmallElf small = whole;
        small.bytes()[at] = static_cast<char>(small.bytes()[at] ^ damage);
        UseAll(Open(small));
      }
    }
  }
}

TEST(ElfFileTest, NoDamageToARealFilesHeadersCrashesTheReader) {
  const std::string whole = Contents("/bin/true");
  Elf64_Ehdr header;
  ASSERT_GE(whole.size(), sizeof header);
  std::memcpy(&header, whole.data(), sizeof header);
  const size_t sections = header.e_shnum * sizeof(Elf64_Shdr);
  for (size_t at = 0; at < 0x400 + sections; ++at) {
    std::string damaged = whole;
    damaged[at < 0x400 ? at : header.e_shoff + (at - 0x400)] ^= '\xff';
    UseAll(ElfFile::Open(FileWith(damaged), "damaged"));
  }
  for (size_t size = 0; size < whole.size(); size += 509) {
    UseAll(ElfFile::Open(FileWith(whole.substr(0, size)), "truncated"));
  }
}

TEST(ElfFileTest, FindsCPythonsSymbolsInTheSystemsInterpreter) {
  const auto elf = OpenPath("/usr/bin/python3");
  ASSERT_TRUE(elf.ok()) << elf.status();
  EXPECT_EQ(elf->build_id().size(), 40u);
  for (const char* name : {"_PyRuntime", "PyCode_Type", "_PyEval_EvalFrameDefault"}) {
    const auto symbol = elf->FindSymbol(name);
    ASSERT_TRUE(symbol) << name;
    EXPECT_GT(symbol->size, 100u) << name;
  }
  EXPECT_TRUE(elf->IsExecutable(elf->FindSymbol("_PyEval_EvalFrameDefault")->vaddr));
  EXPECT_FALSE(elf->IsExecutable(elf->FindSymbol("_PyRuntime")->vaddr));
  EXPECT_GT(elf->CodePointers().size(), 1000u);
}

}  // namespace
}  // namespace sbump
