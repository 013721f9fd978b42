#include "daemon/text/return_sites.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cpython/fake_elf.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kEntry = FakeElf::kText + 0x100;
constexpr uint64_t kCallee = FakeElf::kText + 0x400;

class ReturnSitesTest : public testing::Test {
 protected:
  FakeElf elf;

  void Put(uint64_t offset, std::string_view bytes) { elf.PutCode(kEntry + offset, Hex(bytes)); }
  // call kCallee, as 5 bytes at this offset.
  void PutCall(uint64_t offset) {
    const auto distance = static_cast<uint32_t>(kCallee - (kEntry + offset + 5));
    std::vector<uint8_t> bytes = {0xe8};
    for (int shift = 0; shift < 32; shift += 8)
      bytes.push_back(static_cast<uint8_t>(distance >> shift));
    elf.PutCode(kEntry + offset, bytes);
  }
  absl::StatusOr<std::vector<ReturnSite>> Find() {
    const absl::StatusOr<ElfFile> file = elf.Open();
    return FindReturnSites(*file, kEntry);
  }
  std::string WhyNot() { return std::string(Find().status().message()); }
};

TEST_F(ReturnSitesTest, TheFirstBranchBehindTheCall) {
  Put(0, "53");  // push %rbx
  PutCall(1);
  Put(6, "85 d2  78 01  90  5b  c3");  // test %edx,%edx; js +1; nop; pop %rbx; ret
  const auto sites = Find();
  ASSERT_TRUE(sites.ok()) << sites.status();
  EXPECT_THAT(*sites, ElementsAre(ReturnSite{kEntry + 8, 0, 8}));
}

TEST_F(ReturnSitesTest, AResultInAnotherRegisterAndInTheFrame) {
  Put(0, "53 48 83 ec 10");  // push %rbx; sub $16,%rsp
  PutCall(5);
  Put(10, "48 89 c3");      // mov %rax,%rbx
  Put(13, "85 d2  75 0f");  // test %edx,%edx; jne +15
  Put(17, "48 89 1c 24");   // mov %rbx,(%rsp)
  PutCall(21);              // its result is not returned
  Put(26, "48 8b 1c 24");   // mov (%rsp),%rbx
  Put(30, "90 90");
  Put(32, "48 89 d8");  // mov %rbx,%rax
  Put(35, "48 83 c4 10  5b  c3");
  const auto sites = Find();
  ASSERT_TRUE(sites.ok()) << sites.status();
  EXPECT_THAT(*sites, ElementsAre(ReturnSite{kEntry + 15, 3, 24}));
}

TEST_F(ReturnSitesTest, AFramePointer) {
  Put(0, "55 48 89 e5 48 83 ec 20");  // push %rbp; mov %rsp,%rbp; sub $32,%rsp
  PutCall(8);
  Put(13, "48 89 45 f8");  // mov %rax,-8(%rbp)
  PutCall(17);
  Put(22, "48 8b 45 f8");           // mov -8(%rbp),%rax
  Put(26, "85 d2  78 00  c9  c3");  // test; js +0; leave; ret
  const auto sites = Find();
  ASSERT_TRUE(sites.ok()) << sites.status();
  EXPECT_THAT(*sites, ElementsAre(ReturnSite{kEntry + 28, 0, 40}));
}

TEST_F(ReturnSitesTest, ABranchBeforeWhichTheResultMayStillBeAnother) {
  PutCall(0);
  Put(5, "85 d2  78 02");       // js: to where null is returned instead
  Put(9, "31 c0");              // xor %eax,%eax
  Put(11, "85 c9  79 00  c3");  // test; jns; ret
  const auto sites = Find();
  ASSERT_TRUE(sites.ok()) << sites.status();
  EXPECT_THAT(*sites, ElementsAre(ReturnSite{kEntry + 13, 0, 0}));
}

TEST_F(ReturnSitesTest, OfTwoOnOneWayTheLater) {
  // The first call's result passes a branch of its own, then one that both pass.
  Put(0, "85 ff  74 0b");  // test %edi,%edi; je +11
  PutCall(4);
  Put(9, "85 d2  78 00  eb 07");  // test; js +0; jmp +7
  PutCall(15);
  Put(20, "85 d2");
  Put(22, "79 00  c3");  // jns +0; ret
  const auto sites = Find();
  ASSERT_TRUE(sites.ok()) << sites.status();
  EXPECT_THAT(*sites, ElementsAre(ReturnSite{kEntry + 22, 0, 0}));
}

TEST_F(ReturnSitesTest, ANullMayBeReturnedPastThem) {
  PutCall(0);                 // a lookup
  Put(5, "48 85 c0  74 09");  // test %rax,%rax; je: the null is returned
  PutCall(10);
  Put(15, "85 d2  78 00  c3");  // test %edx,%edx; js +0; ret
  const auto sites = Find();
  ASSERT_TRUE(sites.ok()) << sites.status();
  EXPECT_THAT(*sites, ElementsAre(ReturnSite{kEntry + 17, 0, 0}));
  Put(8, "75 09");  // jne: the result that is none is returned
  EXPECT_THAT(WhyNot(), HasSubstr("past every place"));
}

TEST_F(ReturnSitesTest, AResultThatPassesNoBranchIsRefused) {
  PutCall(0);
  Put(5, "c3");
  EXPECT_THAT(WhyNot(), HasSubstr("past every place"));
}

TEST_F(ReturnSitesTest, ABranchThatTheKernelDoesNotEmulateIsNone) {
  PutCall(0);
  Put(5, "e3 00  c3");  // jrcxz +0
  EXPECT_FALSE(Find().ok());
}

TEST_F(ReturnSitesTest, AFunctionThatReturnsNothingOfWhatItCalledIsRefused) {
  PutCall(0);
  Put(5, "31 c0  85 d2  78 00  c3");
  EXPECT_THAT(WhyNot(), HasSubstr("returns no result of a call"));
}

TEST_F(ReturnSitesTest, WhatCannotBeFollowedIsRefused) {
  PutCall(0);
  Put(5, "78 00  ff e0");  // jmp *%rax
  EXPECT_THAT(WhyNot(), HasSubstr("address that it computes"));
  Put(5, "78 00  48 83 e4 f0  c3");  // and $-16,%rsp
  EXPECT_THAT(WhyNot(), HasSubstr("stack pointer"));
  Put(5, "78 01  50  c3");  // push %rax on one way
  EXPECT_THAT(WhyNot(), HasSubstr("different stacks"));
}

}  // namespace
}  // namespace sbump
