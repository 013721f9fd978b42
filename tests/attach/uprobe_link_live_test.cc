// Needs root. Both kinds of links, whichever of them the daemon takes on this kernel.
#include <bpf/bpf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

#include "daemon/attach/kernel_features.h"
#include "daemon/attach/programs.h"
#include "daemon/attach/uprobe_link.h"
#include "tests/fakes/no_file_descriptors.h"

// Begins with an instruction that the kernel emulates, as the sites do.
asm(R"(
  .text
  .p2align 4
  .globl sb_probed
  .type sb_probed, @function
sb_probed:
  push %rbp
  mov %rdi, %rax
  pop %rbp
  ret
  .size sb_probed, . - sb_probed
)");
extern "C" uint64_t sb_probed(uint64_t value);

namespace sbump {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr int kCalls = 100;
constexpr unsigned char kPush = 0x55;

// A program that counts its runs.
class Counter {
 public:
  explicit Counter(UprobeKind kind) {
    bpf_map_create_opts map_options{};
    map_options.sz = sizeof(map_options);
    map_options.map_flags = BPF_F_MMAPABLE;
    map_ = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "sb_count", 4, 8, 1, &map_options));
    at_ = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, map_.get(), 0);
    const std::array<bpf_insn, 6> program = {{
        {.code = BPF_LD | BPF_DW | BPF_IMM,
         .dst_reg = 1,
         .src_reg = BPF_PSEUDO_MAP_VALUE,
         .imm = map_.get()},
        {},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 1},
        {.code = BPF_STX | BPF_DW | BPF_ATOMIC, .dst_reg = 1, .src_reg = 0, .imm = BPF_ADD},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
        {.code = BPF_JMP | BPF_EXIT},
    }};
    bpf_prog_load_opts options{};
    options.sz = sizeof(options);
    options.prog_flags = BPF_F_SLEEPABLE;
    if (kind == UprobeKind::kMulti)
      options.expected_attach_type = static_cast<bpf_attach_type>(kAttachTypeUprobeMulti);
    program_ = Fd(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "sb_count", "GPL", program.data(),
                                program.size(), &options));
  }
  ~Counter() {
    if (at_ != MAP_FAILED) munmap(at_, 4096);
  }
  bool valid() const { return at_ != MAP_FAILED && program_.valid(); }
  int program_fd() const { return program_.get(); }
  uint64_t count() const { return *static_cast<volatile uint64_t*>(at_); }

 private:
  Fd map_, program_;
  void* at_ = MAP_FAILED;
};

unsigned char FirstByte() { return *reinterpret_cast<const volatile unsigned char*>(&sb_probed); }

// Where it is in this program's file.
uint64_t FileOffset() {
  const auto addr = reinterpret_cast<uint64_t>(&sb_probed);
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096];
  uint64_t found = 0;
  while (fgets(line, sizeof(line), maps) != nullptr) {
    uint64_t begin, end, offset;
    if (sscanf(line, "%lx-%lx %*s %lx", &begin, &end, &offset) != 3) continue;
    if (addr >= begin && addr < end) found = addr - begin + offset;
  }
  fclose(maps);
  return found;
}

struct Way {
  const char* name;
  UprobeKind kind;
  bool on_return;
};

class UprobeLinkTest : public ::testing::TestWithParam<Way> {};

TEST_P(UprobeLinkTest, SeesEachCallOfEachThreadAndLeavesNothing) {
  const Counter counter(GetParam().kind);
  ASSERT_TRUE(counter.valid()) << strerror(errno);
  {
    const absl::StatusOr<UprobeLink> link = OpenUprobe({.kind = GetParam().kind,
                                                        .pid = getpid(),
                                                        .path = "/proc/self/exe",
                                                        .file_offset = FileOffset(),
                                                        .on_return = GetParam().on_return},
                                                       counter.program_fd());
    ASSERT_TRUE(link.ok()) << link.status();
    EXPECT_NE(FirstByte(), kPush);
    for (uint64_t i = 0; i < kCalls; ++i) ASSERT_EQ(sb_probed(i), i);
    EXPECT_EQ(counter.count(), kCalls);
    std::thread([] {
      for (uint64_t i = 0; i < kCalls; ++i) sb_probed(i);
    }).join();
    EXPECT_EQ(counter.count(), 2 * kCalls);
  }
  EXPECT_EQ(FirstByte(), kPush);
  EXPECT_EQ(sb_probed(7), 7);
  EXPECT_EQ(counter.count(), 2 * kCalls);
}

// Those of the kernel that runs the test; KernelFeaturesTest fails where some are missing.
std::vector<Way> WaysOfThisKernel() {
  std::vector<Way> ways = {{"PerfEvent", UprobeKind::kPerfEvent, false},
                           {"PerfEventReturn", UprobeKind::kPerfEvent, true}};
  if (!UprobeMultiWorks()) return ways;
  ways.push_back({"Multi", UprobeKind::kMulti, false});
  ways.push_back({"MultiReturn", UprobeKind::kMulti, true});
  return ways;
}
INSTANTIATE_TEST_SUITE_P(Ways, UprobeLinkTest, ::testing::ValuesIn(WaysOfThisKernel()),
                         [](const auto& info) { return info.param.name; });

TEST(KernelFeaturesTest, TheKernelThatRunsTheTestsHasAll) {
  EXPECT_THAT(ExamineKernelFeatures(),
              Each(Field(&KernelFeature::answer, KernelFeature::Answer::kYes)));
}

TEST(KernelFeaturesTest, WithoutFileDescriptorsTheKernelLacksNothing) {
  std::string missing;
  absl::Status refused;
  {
    // Matchers come after it: a sanitizer opens a pipe to look at them.
    const NoFileDescriptors none;
    missing = MissingOf(ExamineKernelFeatures());
    refused = Programs::Load(sb_config{}, {.native = true}).status();
  }
  EXPECT_EQ(missing, "");
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("Too many open files"));
}

}  // namespace
}  // namespace sbump
