// FindSites() on CPython 3.14 and later: INSTRUMENTED_RESUME's handler, in which two ways meet.
#include <gtest/gtest.h>

#include <string>

#include "tests/cpython/resume_handlers.h"

namespace sbump {
namespace {

TEST(ResumeJoinSiteTest, FindsAll314) {
  const auto sites = Find(Case314());
  ASSERT_TRUE(sites.ok()) << sites.status();
  EXPECT_EQ(sites->hit.vaddr, Instrumented314().AddressOf("branch"));
  EXPECT_EQ(sites->hit.code, kNoRegister);
  EXPECT_EQ(sites->hit.frame, kRbx);
  EXPECT_EQ(sites->hit.unit, kR10);
  EXPECT_TRUE(sites->hit.passed_once);
  EXPECT_EQ(sites->introduce_vaddr, kIntroduce);
}

TEST(ResumeJoinSiteTest, FindsAll314InASharedLibrary) {
  const auto sites = Find(Case314(SharedInstrumented314()));
  ASSERT_TRUE(sites.ok()) << sites.status();
  EXPECT_EQ(sites->hit.vaddr, SharedInstrumented314().AddressOf("branch"));
  EXPECT_EQ(sites->hit.frame, kRbx);
  EXPECT_EQ(sites->hit.unit, kR10);
  EXPECT_TRUE(sites->hit.passed_once);
}

TEST(ResumeJoinSiteTest, RefusesAnotherTestOfALoadedRegister) {
  const auto with = [](const char* name, const char* code) {
    return Case314(SharedInstrumented314().Set(name, code));
  };
  ExpectRefused(with("tracing", "8b 50 40"), "first branch");  // another field
  ExpectRefused(with("tracing", "8a 50 3c"), "first branch");  // one byte of it
  ExpectRefused(with("test", "84 d2"), "first branch");
  ExpectRefused(with("test", "85 ca"), "first branch");  // test %ecx,%edx
  ExpectRefused(with("test", "21 d2"), "first branch");  // and %edx,%edx
  // The thread's register does not last until its version is read.
  ExpectRefused(with("away", "48 89 d8"), "another than the traced");  // mov %rbx,%rax
}

TEST(ResumeJoinSiteTest, RefusesAThreadThatTheTestOverwrites) {
  FakeCode handler = SharedInstrumented314();
  handler.Set("tracing", "8b 40 3c").Set("test", "85 c0");  // through %eax itself
  ExpectRefused(Case314(handler), "another than the traced");
}

TEST(ResumeJoinSiteTest, BothWaysMustLeadToTheSite) {
  // To "return".
  ExpectRefused(Case314(Instrumented314().Set("traced", "75 21")), "no branch follows");
  // A branch of its own on the way where nobody traces.
  ExpectRefused(Case314(Instrumented314().Prepend("join", "75 00").Set("traced", "75 1d")),
                "do not meet");
  ExpectRefused(Case314(Instrumented314().Set("branch", "c3 c3")), "no branch follows");
}

TEST(ResumeJoinSiteTest, RefusesATestOfSomethingElse) {
  ExpectRefused(Case314(Instrumented314().Set("tracing", "41 83 7c 24 40 00")), "first branch");
  ExpectRefused(Case314(Instrumented314().Set("tracing", "41 83 7c 24 3c 01")), "first branch");
  ExpectRefused(Case314(Instrumented314().Set("eval", "49 8b 45 18 90")),
                "another than the traced");
  ExpectRefused(Case314(Instrumented314().Set("eval", "49 8b 44 24 20")), "something else");
  ExpectRefused(Case314(Instrumented314().Set("load", "48 8b 3f")), "does not store prev_instr");
  ExpectRefused(Case314(Instrumented314().Set("tag", "48 83 e7 fc")), "does not load the code");
  ExpectRefused(Case314(Instrumented314().Prepend("stale", "85 c0")), "does not decide");
}

TEST(ResumeJoinSiteTest, RefusesWhenARegisterChangesOnEitherWay) {
  const std::string why = "a register that the probe reads changes";
  ExpectRefused(Case314(Instrumented314().Set("join", "48 89 eb 90")), why);      // frame
  ExpectRefused(Case314(Instrumented314().Set("join", "4d 89 da 90")), why);      // unit
  ExpectRefused(Case314(Instrumented314().Prepend("tracing", "4d 89 da")), why);  // unit
  Case c = Case314(Instrumented314().Prepend("mask", "4d 89 da").Set("traced", "75 1e"));
  ExpectRefused(c, why);  // unit, only where nobody traces
}

TEST(ResumeJoinSiteTest, RefusesWhenOtherCodeJumpsIntoAnyPart) {
  for (const char* piece : {"tracing", "traced", "eval", "compare", "stale", "join", "branch"}) {
    Case c = Case314();
    c.jump_from_other_handler = Instrumented314().AddressOf(piece);
    ExpectRefused(c, "other code jumps");
  }
  Case c = Case314();
  c.jump_from_other_handler = kInstrumentedResume;
  EXPECT_TRUE(Find(c).ok()) << Find(c).status();
}

TEST(ResumeJoinSiteTest, RefusesABranchThatTheKernelSteps) {
  ExpectRefused(Case314(Instrumented314().Prepend("branch", "2e")), "single-step");
}

}  // namespace
}  // namespace sbump
