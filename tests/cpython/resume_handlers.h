// Handlers of RESUME and INSTRUMENTED_RESUME as compilers make them, and what FindSites() finds
// there.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "daemon/cpython/sites.h"
#include "tests/cpython/fake_code.h"
#include "tests/cpython/fake_elf.h"

namespace sbump {

inline constexpr RegisterNumber kRbx = 3, kRbp = 5, kRsi = 6, kR10 = 10, kR14 = 14, kR15 = 15;
inline constexpr uint64_t kResume = FakeElf::kText + 0x4000;
inline constexpr uint64_t kInstrumentedResume = FakeElf::kText + 0x5000;
inline constexpr uint64_t kIntroduce = FakeElf::kText + 0x6000;
inline constexpr uint64_t kOtherHandler = FakeElf::kText + 0x7000;

// 3.11.7's, as GCC compiles it.
inline FakeCode Resume311() {
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
inline FakeCode Resume312() {
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

inline FakeCode Instrumented312() {
  return FakeCode(kInstrumentedResume, {{"load", "48 8b 3b"},      // mov (%rbx),%rdi
                                        {"store", "4c 89 53 38"},  // mov %r10,0x38(%rbx)
                                        {"interp", "48 8b 70 10"},
                                        {"version", "48 8b 46 30"},
                                        {"compare", "48 39 87 a0 00 00 00"},
                                        {"branch", "0f 84 01 00 00 00"},
                                        {"return", "c3 c3"}});
}

// 3.13.0's. RESUME looks at tstate->tracing first.
inline FakeCode Resume313() {
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

inline FakeCode Instrumented313() {
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
inline FakeCode Resume313FreeThreaded() {
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

inline FakeCode Instrumented313FreeThreaded() {
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
inline FakeCode Resume314() {
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

inline FakeCode Instrumented314() {
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
inline FakeCode SharedInstrumented314() {
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

inline void AddTable(FakeElf& fake, const Layout& layout) {
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

inline absl::StatusOr<Sites> Find(const Case& c) {
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

inline void ExpectRefused(const Case& c, const std::string& why) {
  const auto sites = Find(c);
  EXPECT_EQ(sites.status().code(), absl::StatusCode::kUnimplemented) << why;
  EXPECT_NE(sites.status().ToString().find(why), std::string::npos) << sites.status();
}

inline Case Case311(FakeCode resume = Resume311()) {
  return {.minor = 11, .resume = std::move(resume)};
}
inline Case Case312(FakeCode instrumented) { return {.instrumented = std::move(instrumented)}; }
inline Case Case313(FakeCode instrumented = Instrumented313()) {
  return {.minor = 13, .resume = Resume313(), .instrumented = std::move(instrumented)};
}

inline Case Case313FreeThreaded(FakeCode instrumented = Instrumented313FreeThreaded()) {
  return {.minor = 13,
          .resume = Resume313FreeThreaded(),
          .instrumented = std::move(instrumented),
          .free_threaded = true};
}

inline Case Case314(FakeCode instrumented = Instrumented314()) {
  return {.minor = 14, .resume = Resume314(), .instrumented = std::move(instrumented)};
}

}  // namespace sbump
