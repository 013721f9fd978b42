// FindSites() on CPython 3.11 and later: the handlers of RESUME and INSTRUMENTED_RESUME.
#include <gtest/gtest.h>

#include <string>

#include "tests/cpython/resume_handlers.h"

namespace sbump {
namespace {

TEST(ResumeSiteTest, FindsAll311) {
  const auto sites = Find(Case311());
  ASSERT_TRUE(sites.ok()) << sites.status();
  EXPECT_EQ(sites->hit.vaddr, Resume311().AddressOf("branch"));
  EXPECT_EQ(sites->hit.code, kRdi);
  EXPECT_EQ(sites->hit.frame, kRbp);
  EXPECT_EQ(sites->hit.unit, kR14);
  EXPECT_EQ(sites->hit.thread, kNoRegister);
  EXPECT_EQ(sites->introduce_vaddr, kIntroduce);
}

TEST(ResumeSiteTest, FindsAll313FreeThreaded) {
  const auto sites = Find(Case313FreeThreaded());
  ASSERT_TRUE(sites.ok()) << sites.status();
  EXPECT_EQ(sites->hit.vaddr, Instrumented313FreeThreaded().AddressOf("branch"));
  EXPECT_EQ(sites->hit.code, kNoRegister);  // its register holds the version by then
  EXPECT_EQ(sites->hit.frame, kRbp);
  EXPECT_EQ(sites->hit.unit, kR15);
  EXPECT_EQ(sites->hit.thread, kRdi);
  EXPECT_EQ(sites->introduce_vaddr, kIntroduce);
}

TEST(ResumeSiteTest, FreeThreadedVersionsThatAreNotWhatIsCompared) {
  const auto with = [](const char* name, const char* code) {
    FakeCode handler = Instrumented313FreeThreaded();
    handler.Set(name, code);
    return Case313FreeThreaded(std::move(handler));
  };
  ExpectRefused(with("field", "48 8b 92 c0 00 00 00"), "before the field of the code object");
  ExpectRefused(with("eval", "48 8b 47 20"), "something else than the version");
  ExpectRefused(with("load", "48 8b 55 08"), "does not load the code object from the frame");
  ExpectRefused(with("compare", "48 39 c8"), "before the field of the code object");
}

TEST(ResumeSiteTest, FindsAll312) {
  const auto sites = Find(Case{});
  ASSERT_TRUE(sites.ok()) << sites.status();
  EXPECT_EQ(sites->hit.vaddr, Instrumented312().AddressOf("branch"));
  EXPECT_EQ(sites->hit.code, kRdi);
  EXPECT_EQ(sites->hit.frame, kRbx);
  EXPECT_EQ(sites->hit.unit, kR10);
  EXPECT_EQ(sites->hit.thread, kNoRegister);
  EXPECT_EQ(sites->introduce_vaddr, kIntroduce);
}

TEST(ResumeSiteTest, FindsAll313) {
  const auto sites = Find(Case313());
  ASSERT_TRUE(sites.ok()) << sites.status();
  EXPECT_EQ(sites->hit.vaddr, Instrumented313().AddressOf("branch"));
  EXPECT_EQ(sites->hit.code, kRdi);
  EXPECT_EQ(sites->hit.frame, kRbp);
  EXPECT_EQ(sites->hit.unit, kR15);
  EXPECT_EQ(sites->hit.thread, kRsi);
  EXPECT_EQ(sites->introduce_vaddr, kIntroduce);
}

TEST(ResumeSiteTest, TakesHandlersThatBeginWithEndbr) {
  EXPECT_TRUE(Find(Case312(Instrumented312().Prepend("load", "f3 0f 1e fa"))).ok());
}

TEST(ResumeSiteTest, RefusesWithoutTheStoreOfPrevInstrOrWithTwo) {
  ExpectRefused(Case311(Resume311().Set("store", "90")), "does not store prev_instr");
  ExpectRefused(Case312(Instrumented312().Set("store", "4c 89 53 40")), "does not store");
  ExpectRefused(Case312(Instrumented312().Set("store", "4c 89 55 38")), "does not store");
  ExpectRefused(Case312(Instrumented312().Prepend("interp", "4c 89 5b 38")), "twice");
  ExpectRefused(Case312(Instrumented312().Set("store", "48 c7 43 38 00 00 00 00")), "no register");
}

TEST(ResumeSiteTest, RefusesACodeObjectThatIsNotLoadedFromTheFrame) {
  const std::string why = "does not load the code object";
  ExpectRefused(Case311(Resume311().Set("load", "48 8b 7d 28")), why);
  ExpectRefused(Case311(Resume311().Set("load", "8b 7d 20")), why);  // 32 bits
  ExpectRefused(Case312(Instrumented312().Prepend("compare", "48 89 f7")), why);
  ExpectRefused(Case312(Instrumented312().Set("load", "48 8b 3c 24")), why);  // (%rsp)
}

TEST(ResumeSiteTest, RefusesWhenARegisterChangesBeforeTheSite) {
  const std::string why = "a register that the probe reads changes";
  ExpectRefused(Case312(Instrumented312().Prepend("branch", "48 89 f7")), why);  // code
  ExpectRefused(Case312(Instrumented312().Prepend("interp", "48 89 eb")), why);  // frame
  ExpectRefused(Case312(Instrumented312().Prepend("branch", "4d 89 da")), why);  // unit
  ExpectRefused(Case311(Resume311().Prepend("test", "4d 8d 76 02")), why);       // unit: lea 2
  ExpectRefused(Case313(Instrumented313().Prepend("branch", "48 89 c6")), "thread's register");
}

TEST(ResumeSiteTest, RefusesABranchThatDoesNotDecideOnTheVersions) {
  const std::string why = "does not decide on the compare";
  ExpectRefused(Case312(Instrumented312().Prepend("branch", "85 c0")), why);
  ExpectRefused(Case312(Instrumented312().Set("branch", "0f 87 01 00 00 00")), why);  // ja
}

TEST(ResumeSiteTest, RefusesACompareWithSomethingElseThanTheVersion) {
  const std::string why = "something else than the version";
  ExpectRefused(Case312(Instrumented312().Set("version", "48 8b 46 38")), why);
  ExpectRefused(Case312(Instrumented312().Set("version", "90")), why);
  ExpectRefused(Case313(Instrumented313().Set("mask", "48 ff c0")), why);  // inc %rax
  ExpectRefused(Case312(Instrumented312().Set("compare", "48 83 bf a0 00 00 00 00")),
                "with no register");
}

TEST(ResumeSiteTest, RefusesABranchBeforeTheField) {
  const std::string why = "first branch comes before";
  ExpectRefused(Case311(Resume311().Prepend("warmup", "74 00")), why);
  ExpectRefused(Case312(Instrumented312().Prepend("compare", "74 00")), why);
}

TEST(ResumeSiteTest, RefusesAHandlerWithoutABranchOrWithACallFirst) {
  const std::string why = "straight line up to a branch";
  ExpectRefused(Case312(Instrumented312().Set("branch", "c3")), why);
  ExpectRefused(Case312(Instrumented312().Prepend("compare", "e8 00 00 00 00")), why);
  ExpectRefused(Case312(Instrumented312().Set("load", "06")), why);  // no instruction
}

TEST(ResumeSiteTest, RefusesABranchThatTheKernelSteps) {
  ExpectRefused(Case312(Instrumented312().Prepend("branch", "2e")), "single-step");
}

TEST(ResumeSiteTest, RefusesWhenAnotherHandlerJumpsInBetween) {
  Case c;
  c.jump_from_other_handler = Instrumented312().AddressOf("compare");
  ExpectRefused(c, "other code jumps");
  c.jump_from_other_handler = Instrumented312().AddressOf("branch") + 2;
  ExpectRefused(c, "other code jumps");
  c.jump_from_other_handler = kInstrumentedResume;
  EXPECT_TRUE(Find(c).ok());
}

TEST(IntroduceSiteTest, RefusesACallWithoutTheCodeObject) {
  Case c;
  c.resume.Set("argument", "48 89 f7").SetBranch("call", "e8", kIntroduce);  // mov %rsi,%rdi
  ExpectRefused(c, "calls nothing with a stale code object");
  ExpectRefused(Case311(Resume311().Prepend("retest", "48 89 ef")), "nothing is called");
}

TEST(IntroduceSiteTest, FollowsTheUnequalSideOfEitherBranch) {
  Case c;
  c.resume.Set("branch", "75 01").Set("argument", "c3").SetBranch("call", "e8", kIntroduce);
  EXPECT_TRUE(Find(c).ok()) << Find(c).status();
  c.resume.Set("branch", "75 06").Set("argument", "").SetBranch("call", "e8", kIntroduce);
  ExpectRefused(c, "calls nothing with a stale code object");
}

TEST(IntroduceSiteTest, TheSymbolMustAgree) {
  Case c;
  c.symbol = kIntroduce;
  EXPECT_TRUE(Find(c).ok());
  c.symbol = kOtherHandler;
  ExpectRefused(c, "the symbol _Py_Instrument is at");
  Case quicken = Case311();
  quicken.symbol = kOtherHandler;
  ExpectRefused(quicken, "the symbol _PyCode_Quicken is at");
}

TEST(IntroduceSiteTest, TheSymbolMayBeAStubBeforeTheBody) {
  Case c;
  c.symbol = kOtherHandler;
  c.jump_from_other_handler = kIntroduce;  // symbol: jmp body
  EXPECT_TRUE(Find(c).ok()) << Find(c).status();
}

TEST(IntroduceSiteTest, RefusesThePltAndNoCode) {
  Case c;
  c.introduced = "ff 25 00 00 00 00";  // jmp *0(%rip)
  ExpectRefused(c, "through the PLT");
  c.introduced = "06";
  ExpectRefused(c, "leads to no code");
}

TEST(IntroduceSiteTest, RefusesWithoutTheStoreOfWarmup) {
  ExpectRefused(Case311(Resume311().Set("count", "66 89 47 36")), "no store of co_warmup");
  ExpectRefused(Case311(Resume311().Set("done", "7f 01")), "no store of co_warmup");
  ExpectRefused(Case311(Resume311().Set("branch", "7f 0c")), "neither je nor jne");
}

}  // namespace
}  // namespace sbump
