// FindSites() on CPython 3.11 and later: the handlers of RESUME and INSTRUMENTED_RESUME.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "daemon/cpython/sites.h"
#include "tests/cpython/fake_code.h"
#include "tests/cpython/fake_elf.h"

namespace sbump {
namespace {

constexpr RegisterNumber kRbx = 3, kRbp = 5, kRsi = 6, kR10 = 10, kR14 = 14, kR15 = 15;
constexpr uint64_t kResume = FakeElf::kText + 0x4000;
constexpr uint64_t kInstrumentedResume = FakeElf::kText + 0x5000;
constexpr uint64_t kIntroduce = FakeElf::kText + 0x6000;
constexpr uint64_t kOtherHandler = FakeElf::kText + 0x7000;

// 3.11.7's, as GCC compiles it.
FakeCode Resume311() {
  return FakeCode(kResume, {{"load", "48 8b 7d 20"},    // mov 0x20(%rbp),%rdi
                            {"store", "4c 89 75 38"},   // mov %r14,0x38(%rbp)
                            {"warmup", "0f b7 47 34"},  // movzwl 0x34(%rdi),%eax
                            {"test", "66 85 c0"},       // test %ax,%ax
                            {"branch", "74 0c"},        // je to "end"
                            {"add", "83 c0 01"},        // add $1,%eax
                            {"count", "66 89 47 34"},   // mov %ax,0x34(%rdi)
                            {"retest", "66 85 c0"},     // test %ax,%ax
                            {"done", "74 01"},          // je to "call"
                            {"end", "c3"},
                            {"call", ""},
                            {"return", "c3"}})
      .SetBranch("call", "e8", kIntroduce);
}

// 3.12.1's.
FakeCode Resume312() {
  return FakeCode(kResume, {{"load", "48 8b 3b"},                 // mov (%rbx),%rdi
                            {"interp", "48 8b 70 10"},            // mov 0x10(%rax),%rsi
                            {"version", "48 8b 46 30"},           // mov 0x30(%rsi),%rax
                            {"compare", "48 39 87 a0 00 00 00"},  // cmp %rax,0xa0(%rdi)
                            {"branch", "74 06"},                  // je over the call
                            {"argument", ""},
                            {"call", ""},
                            {"return", "c3"}})
      .SetBranch("call", "e8", kIntroduce);
}

FakeCode Instrumented312() {
  return FakeCode(kInstrumentedResume, {{"load", "48 8b 3b"},      // mov (%rbx),%rdi
                                        {"store", "4c 89 53 38"},  // mov %r10,0x38(%rbx)
                                        {"interp", "48 8b 70 10"},
                                        {"version", "48 8b 46 30"},
                                        {"compare", "48 39 87 a0 00 00 00"},
                                        {"branch", "0f 84 01 00 00 00"},
                                        {"return", "c3 c3"}});
}

// 3.13.0's. RESUME looks at tstate->tracing first.
FakeCode Resume313() {
  return FakeCode(kResume, {{"tracing", "8b 46 3c 85 c0 75 16"},  // test; jne to "return"
                            {"eval", "48 8b 46 18"},              // mov 0x18(%rsi),%rax
                            {"load", "48 8b 7d 00"},              // mov 0(%rbp),%rdi
                            {"mask", "30 c0"},                    // xor %al,%al
                            {"compare", "48 3b 87 a8 00 00 00"},  // cmp 0xa8(%rdi),%rax
                            {"branch", "74 05"},
                            {"call", ""},
                            {"return", "c3"}})
      .SetBranch("call", "e8", kIntroduce);
}

FakeCode Instrumented313() {
  return FakeCode(kInstrumentedResume, {{"thread", "48 8b 34 24"},  // mov (%rsp),%rsi
                                        {"store", "4c 89 7d 38"},   // mov %r15,0x38(%rbp)
                                        {"eval", "48 8b 46 18"},
                                        {"load", "48 8b 7d 00"},
                                        {"mask", "30 c0"},
                                        {"compare", "48 3b 87 a8 00 00 00"},
                                        {"branch", "74 01"},
                                        {"return", "c3 c3"}});
}

// 3.13.5's, free-threaded: the code object's version is loaded on its own, over the code object.
FakeCode Resume313FreeThreaded() {
  return FakeCode(kResume, {{"tracing", "8b 46 3c 85 c0 75 1f"},  // test; jne to "return"
                            {"eval", "48 8b 46 18"},              // mov 0x18(%rsi),%rax
                            {"load", "48 8b 55 00"},              // mov 0(%rbp),%rdx
                            {"field", "48 8b 92 b8 00 00 00"},    // mov 0xb8(%rdx),%rdx
                            {"mask", "30 c0"},                    // xor %al,%al
                            {"compare", "48 39 d0"},              // cmp %rdx,%rax
                            {"branch", "74 09"},
                            {"argument", "48 8b 7d 00"},  // mov 0(%rbp),%rdi
                            {"call", ""},
                            {"return", "c3"}})
      .SetBranch("call", "e8", kIntroduce);
}

FakeCode Instrumented313FreeThreaded() {
  return FakeCode(kInstrumentedResume, {{"thread", "48 8b 3c 24"},  // mov (%rsp),%rdi
                                        {"store", "4c 89 7d 38"},   // mov %r15,0x38(%rbp)
                                        {"eval", "48 8b 47 18"},    // mov 0x18(%rdi),%rax
                                        {"load", "48 8b 55 00"},
                                        {"field", "48 8b 92 b8 00 00 00"},
                                        {"mask", "30 c0"},
                                        {"compare", "48 39 d0"},
                                        {"branch", "74 01"},
                                        {"return", "c3 c3"}});
}

// 3.14.10's, as Debian's GCC compiles it: the versions are compared only where nobody traces.
FakeCode Resume314() {
  return FakeCode(kResume, {{"tracing", "41 83 7c 24 3c 00"},     // cmpl $0,0x3c(%r12)
                            {"untraced", "75 1a"},                // jne to "return"
                            {"eval", "49 8b 44 24 18"},           // mov 0x18(%r12),%rax
                            {"load", "48 8b 3b"},                 // mov (%rbx),%rdi
                            {"tag", "48 83 e7 fe"},               // and $-2,%rdi
                            {"mask", "30 c0"},                    // xor %al,%al
                            {"compare", "48 3b 87 a8 00 00 00"},  // cmp 0xa8(%rdi),%rax
                            {"branch", "74 05"},
                            {"call", ""},
                            {"return", "c3"}})
      .SetBranch("call", "e8", kIntroduce);
}

FakeCode Instrumented314() {
  return FakeCode(kInstrumentedResume, {{"store", "4c 89 53 38"},          // mov %r10,0x38(%rbx)
                                        {"tracing", "41 83 7c 24 3c 00"},  // cmpl $0,0x3c(%r12)
                                        {"traced", "75 1b"},               // jne to "join"
                                        {"eval", "49 8b 44 24 18"},
                                        {"load", "48 8b 3b"},
                                        {"tag", "48 83 e7 fe"},
                                        {"mask", "30 c0"},
                                        {"compare", "48 3b 87 a8 00 00 00"},
                                        {"stale", "0f 85 07 00 00 00"},  // jne to "end"
                                        {"join", "41 f6 c5 02"},         // test $2,%r13b
                                        {"branch", "75 01"},
                                        {"return", "c3"},
                                        {"end", "c3"}});
}

// The same of Debian's shared libpython: the thread is on the stack, and the handler goes on
// elsewhere where nobody traces.
FakeCode SharedInstrumented314() {
  return FakeCode(kInstrumentedResume, {{"thread", "48 8b 85 c8 fd ff ff"},  // mov -568(%rbp),%rax
                                        {"store", "4c 89 53 38"},            // mov %r10,0x38(%rbx)
                                        {"tracing", "8b 50 3c"},             // mov 0x3c(%rax),%edx
                                        {"test", "85 d2"},                   // test %edx,%edx
                                        {"untraced", "74 08"},               // je to "away"
                                        {"join", "41 f6 c3 02"},             // test $2,%r11b
                                        {"branch", "75 01"},
                                        {"return", "c3 c3"},
                                        {"away", "48 89 c1"},     // mov %rax,%rcx
                                        {"eval", "48 8b 40 18"},  // mov 0x18(%rax),%rax
                                        {"load", "48 8b 3b"},
                                        {"tag", "48 83 e7 fe"},
                                        {"mask", "30 c0"},
                                        {"compare", "48 3b 87 a8 00 00 00"},
                                        {"current", "74 df"},  // je to "join"
                                        {"end", "c3"}});
}

struct Case {
  int minor = 12;
  FakeCode resume = Resume312();
  FakeCode instrumented = Instrumented312();
  uint64_t jump_from_other_handler = 0;
  std::string introduced = "55 c3";  // the function: push %rbp; ret
  uint64_t symbol = 0;               // of the function, when there is one
  bool free_threaded = false;
};

void AddTable(FakeElf& fake, const Layout& layout) {
  const auto unused = UnusedOpcodes(layout.minor);
  for (int opcode = 0; opcode < 256; ++opcode) {
    const bool is_unused = std::ranges::find(unused, static_cast<uint8_t>(opcode)) != unused.end();
    const auto index = static_cast<uint64_t>(opcode);
    fake.AddWord(opcode == layout.opcode.resume                ? kResume
                 : opcode == layout.opcode.instrumented_resume ? kInstrumentedResume
                 : opcode == 1                                 ? kOtherHandler
                 : is_unused                                   ? FakeElf::kText
                                                               : FakeElf::kText + 16 + index * 16);
  }
}

absl::StatusOr<Sites> Find(const Case& c) {
  const Layout& layout = *FindLayout({.major = 3, .minor = c.minor}, c.free_threaded);
  FakeElf fake;
  FakeCode other(kOtherHandler, {{"jump", "c3"}});
  if (c.jump_from_other_handler != 0) other.SetBranch("jump", "e9", c.jump_from_other_handler);
  other.PutInto(fake);
  fake.PutCode(kIntroduce, Hex(c.introduced));
  c.resume.PutInto(fake);
  if (c.minor >= 12) c.instrumented.PutInto(fake);
  if (c.symbol != 0) fake.AddSymbol(c.minor == 11 ? "_PyCode_Quicken" : "_Py_Instrument", c.symbol);
  AddTable(fake, layout);
  const auto elf = fake.Open();
  return elf.ok() ? FindSites(*elf, layout) : elf.status();
}

void ExpectRefused(const Case& c, const std::string& why) {
  const auto sites = Find(c);
  EXPECT_EQ(sites.status().code(), absl::StatusCode::kUnimplemented) << why;
  EXPECT_NE(sites.status().ToString().find(why), std::string::npos) << sites.status();
}

Case Case311(FakeCode resume = Resume311()) { return {.minor = 11, .resume = std::move(resume)}; }
Case Case312(FakeCode instrumented) { return {.instrumented = std::move(instrumented)}; }
Case Case313(FakeCode instrumented = Instrumented313()) {
  return {.minor = 13, .resume = Resume313(), .instrumented = std::move(instrumented)};
}

Case Case313FreeThreaded(FakeCode instrumented = Instrumented313FreeThreaded()) {
  return {.minor = 13,
          .resume = Resume313FreeThreaded(),
          .instrumented = std::move(instrumented),
          .free_threaded = true};
}

Case Case314(FakeCode instrumented = Instrumented314()) {
  return {.minor = 14, .resume = Resume314(), .instrumented = std::move(instrumented)};
}

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
