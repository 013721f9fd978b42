// FindSites() on CPython 3.8 to 3.10: the increment of co_opcache_flag in _PyEval_EvalFrameDefault.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/cpython/sites.h"
#include "tests/cpython/fake_code.h"
#include "tests/cpython/fake_elf.h"

namespace sbump {
namespace {

constexpr RegisterNumber kRsi = 6;
constexpr uint64_t kLoop = FakeElf::kText + 0x200;

// As GCC compiles 3.8's, behind a jump that leads around it.
FakeCode LoopCode() {
  return FakeCode(kLoop, {{"load", "8b 86 a8 00 00 00"},    // mov 0xa8(%rsi),%eax
                          {"around", "7f 20"},              // jg
                          {"reload", "48 8b 74 24 18"},     // mov 0x18(%rsp),%rsi
                          {"increment", "83 c0 01"},        // add $1,%eax
                          {"store", "89 86 a8 00 00 00"},   // mov %eax,0xa8(%rsi)
                          {"compare", "3d 00 04 00 00"},    // cmp $0x400,%eax
                          {"branch", "0f 85 20 00 00 00"},  // jne
                          {"end", "c3 c3 c3 c3 c3 c3 c3 c3 c3 c3"},
                          {"more", "c3"}});
}

absl::StatusOr<Sites> Find(const FakeCode& code, const FakeCode* other = nullptr) {
  FakeElf fake;
  fake.PutCode(kLoop + 0x400, Hex("c3"));
  code.PutInto(fake);
  fake.AddSymbol("_PyEval_EvalFrameDefault", kLoop, 0x400);
  if (other != nullptr) {
    other->PutInto(fake);
    fake.AddWord(other->vaddr());  // an opcode's handler
  }
  const auto elf = fake.Open();
  return elf.ok() ? FindSites(*elf, *FindLayout({.major = 3, .minor = 9})) : elf.status();
}

void ExpectRefused(const absl::StatusOr<Sites>& sites, const std::string& why) {
  EXPECT_EQ(sites.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(sites.status().ToString().find(why), std::string::npos) << sites.status();
}

void ExpectFound(const FakeCode& code, RegisterNumber code_register) {
  const auto sites = Find(code);
  ASSERT_TRUE(sites.ok()) << sites.status();
  EXPECT_EQ(sites->hit.vaddr, code.AddressOf("branch"));
  EXPECT_EQ(sites->hit.code, code_register);
  EXPECT_EQ(sites->hit.frame, kNoRegister);
  EXPECT_EQ(sites->introduce_vaddr, std::nullopt);
}

TEST(OpcacheSiteTest, FindsTheBranchAfterTheStore) { ExpectFound(LoopCode(), kRsi); }

TEST(OpcacheSiteTest, KnowsTheOtherFormsOfTheIncrement) {
  ExpectFound(LoopCode().Set("increment", "ff c0"), kRsi);  // inc %eax
  ExpectFound(LoopCode()
                  .Set("load", "8b be a8 00 00 00")  // mov 0xa8(%rsi),%edi
                  .Set("increment", "8d 47 01"),     // lea 1(%rdi),%eax
              kRsi);
  ExpectFound(LoopCode().Set("compare", "39 c2"), kRsi);             // cmp %eax,%edx (3.10)
  ExpectFound(LoopCode().Set("branch", "74 01"), kRsi);              // je, short
  ExpectFound(LoopCode().Set("store", "41 89 86 a8 00 00 00"), 14);  // 0xa8(%r14)
}

TEST(OpcacheSiteTest, RefusesWhereNothingIsIncremented) {
  const std::string why = "nothing increments co_opcache_flag";
  ExpectRefused(Find(LoopCode().Set("increment", "83 c0 02")), why);
  ExpectRefused(Find(LoopCode().Set("increment", "83 c1 01")), why);          // another register
  ExpectRefused(Find(LoopCode().Set("store", "89 86 ac 00 00 00")), why);     // another field
  ExpectRefused(Find(LoopCode().Set("store", "89 84 24 a8 00 00 00")), why);  // the stack
  ExpectRefused(Find(LoopCode().Set("store", "48 89 86 a8 00 00 00")), why);  // 64 bits
}

TEST(OpcacheSiteTest, RefusesABranchThatDecidesOnSomethingElse) {
  const std::string why = "no je or jne on the value";
  ExpectRefused(Find(LoopCode().Set("compare", "81 f9 00 04 00 00")), why);  // cmp $0x400,%ecx
  ExpectRefused(Find(LoopCode().Set("compare", "85 c0")), why);              // test %eax,%eax
  ExpectRefused(Find(LoopCode().Prepend("branch", "85 c9")), why);           // flags overwritten
  ExpectRefused(Find(LoopCode().Prepend("compare", "31 c0")), why);          // value overwritten
  ExpectRefused(Find(LoopCode().Set("branch", "0f 8f 20 00 00 00")), why);   // jg
  ExpectRefused(Find(LoopCode().Set("branch", "c3")), why);
}

TEST(OpcacheSiteTest, RefusesWhenTheCodeRegisterChanges) {
  ExpectRefused(Find(LoopCode().Prepend("branch", "48 89 fe")), "register changes");
}

TEST(OpcacheSiteTest, RefusesABranchThatTheKernelSteps) {
  ExpectRefused(Find(LoopCode().Set("branch", "3e 0f 85 20 00 00 00")), "single-step");
}

TEST(OpcacheSiteTest, RefusesTwoPlaces) {
  FakeCode second(kLoop + 0x100,
                  {{"increment", "ff c0"}, {"store", "89 86 a8 00 00 00"}, {"branch", "74 00"}});
  ExpectRefused(Find(LoopCode(), &second), "two places");
}

TEST(OpcacheSiteTest, RefusesWhenAHandlerJumpsInBetween) {
  const FakeCode loop = LoopCode();
  FakeCode handler(kLoop + 0x100, {{"jump", ""}});
  handler.SetBranch("jump", "e9", loop.AddressOf("compare"));
  ExpectRefused(Find(loop, &handler), "other code jumps");
  handler.SetBranch("jump", "e9", loop.AddressOf("branch") + 1);
  ExpectRefused(Find(loop, &handler), "other code jumps");
  handler.SetBranch("jump", "e9", loop.AddressOf("load"));
  EXPECT_TRUE(Find(loop, &handler).ok());
}

TEST(OpcacheSiteTest, KnowsWhereAThreadHasReadAndNotWrittenTheCounter) {
  const FakeCode loop = LoopCode();
  const auto sites = Find(loop);
  ASSERT_TRUE(sites.ok()) << sites.status();
  const std::vector<uint64_t> expected = {loop.AddressOf("around"), loop.AddressOf("reload"),
                                          loop.AddressOf("increment"), loop.AddressOf("store")};
  EXPECT_EQ(sites->hit.counting, expected);
}

// As in 3.8: the increment stands elsewhere.
TEST(OpcacheSiteTest, FollowsTheCounterOverAJump) {
  FakeCode far(kLoop + 0x100, {{"load", "8b 86 a8 00 00 00"}, {"jump", ""}});
  const FakeCode loop = LoopCode().Set("load", "c3").Set("around", "c3");
  far.SetBranch("jump", "e9", loop.AddressOf("reload"));
  const auto sites = Find(loop, &far);
  ASSERT_TRUE(sites.ok()) << sites.status();
  const std::vector<uint64_t> expected = {loop.AddressOf("reload"), loop.AddressOf("increment"),
                                          loop.AddressOf("store"), far.AddressOf("jump")};
  EXPECT_EQ(sites->hit.counting, expected);
}

TEST(OpcacheSiteTest, RefusesACounterOfUnknownOrigin) {
  const std::string why = "where co_opcache_flag is read";
  ExpectRefused(Find(LoopCode().Set("load", "8b 86 ac 00 00 00")), why);     // another field
  ExpectRefused(Find(LoopCode().Set("load", "8b 8e a8 00 00 00")), why);     // into %ecx
  ExpectRefused(Find(LoopCode().Prepend("reload", "31 c0")), why);           // overwritten
  ExpectRefused(Find(LoopCode().Prepend("reload", "e8 00 00 00 00")), why);  // a call in between
  ExpectRefused(Find(LoopCode().Set("load", "90")), why);                    // the loop's first
  const FakeCode loop = LoopCode();
  FakeCode handler(kLoop + 0x100, {{"jump", ""}});
  handler.SetBranch("jump", "e9", loop.AddressOf("increment"));  // from where nothing is read
  ExpectRefused(Find(loop, &handler), why);
}

TEST(OpcacheSiteTest, RefusesAFileWithoutTheSymbol) {
  const auto elf = FakeElf().Open();
  ASSERT_TRUE(elf.ok());
  ExpectRefused(FindSites(*elf, *FindLayout({.major = 3, .minor = 8})),
                "no symbol _PyEval_EvalFrameDefault");
}

}  // namespace
}  // namespace sbump
