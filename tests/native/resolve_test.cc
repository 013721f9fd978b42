// Native targets of a live process: a fork of this one, which has loaded the fixture.
#include "daemon/native/resolve.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/native/fixture_elf.h"
#include "tests/process/child.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ResolveTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    library_ = dlopen(FixturePath("libfixture.so").c_str(), RTLD_NOW);
    ASSERT_NE(library_, nullptr) << dlerror();
  }
  static uint64_t AddressOf(const char* name) {
    return reinterpret_cast<uint64_t>(dlsym(library_, name));
  }
  absl::StatusOr<NativeResolution> Resolve(const std::vector<std::string>& texts) {
    std::vector<NativePattern> patterns;
    for (const std::string& text : texts) {
      auto pattern = ParseNativePattern(text);
      EXPECT_TRUE(pattern.ok()) << text << ": " << pattern.status();
      patterns.push_back(*std::move(pattern));
    }
    return ResolveNative(process_, memory_, patterns);
  }
  NativeTarget One(const std::string& text) {
    auto found = Resolve({text});
    EXPECT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->targets.size(), 1u) << text << ": " << found->answers[0].refused;
    return found->targets.empty() ? NativeTarget{} : found->targets[0];
  }
  NativeAnswer AnswerTo(const std::string& text) {
    auto found = Resolve({text});
    EXPECT_TRUE(found.ok()) << found.status();
    return found->answers[0];
  }
  void ExpectRefused(const std::string& text, const std::string& words) {
    const NativeAnswer answer = AnswerTo(text);
    EXPECT_EQ(answer.targets, 0u);
    EXPECT_THAT(std::string(answer.refused.message()), HasSubstr(words)) << text;
  }

  static inline void* library_ = nullptr;
  const Child child_{[] {
    for (;;) pause();
  }};
  const TargetProcess process_ = *TargetProcess::Open(child_.pid());
  const RemoteMemory memory_ = *RemoteMemory::Open(process_.proc_dirfd(), child_.pid());
};

TEST_F(ResolveTest, AFileIsFoundByNameByGlobAndByPath) {
  char full[4096];
  ASSERT_NE(realpath(FixturePath("libfixture.so").c_str(), full), nullptr);
  for (const std::string& path : {std::string("libfixture.so"), std::string("*/libfixture.so*"),
                                  std::string("libfix*"), std::string(full)}) {
    const NativeTarget target = One(path + ":pushes");
    EXPECT_EQ(target.site.address.value, AddressOf("pushes")) << path;
    EXPECT_EQ(target.filename, full);
    EXPECT_EQ(target.name, "pushes");
    EXPECT_TRUE(target.site.emulated);
    EXPECT_EQ(target.site.instruction, "push %rbp");
  }
}

TEST_F(ResolveTest, APathMayLeadThereByALink) {
  const std::string link = testing::TempDir() + "/sbump_link_to_fixture.so";
  unlink(link.c_str());
  char full[4096];
  ASSERT_NE(realpath(FixturePath("libfixture.so").c_str(), full), nullptr);
  ASSERT_EQ(symlink(full, link.c_str()), 0);
  const NativeTarget target = One(link + ":pushes");
  EXPECT_EQ(target.site.address.value, AddressOf("pushes"));
  EXPECT_EQ(target.filename, link) << "PATH, as it was given";
  unlink(link.c_str());
}

TEST_F(ResolveTest, TwoNamesOfOneFunctionAreOneTarget) {
  const auto found = Resolve({"libfixture.so:also_pushes", "libfixture.so:pushes"});
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->targets.size(), 1u);
  EXPECT_THAT(found->targets[0].patterns, ElementsAre(0, 1));
  EXPECT_EQ(found->targets[0].name, "also_pushes");
  EXPECT_EQ(found->answers[1].targets, 1u);
}

TEST_F(ResolveTest, AnIndirectFunctionIsTheOneThatWasChosen) {
  EXPECT_EQ(One("libfixture.so:chosen_function").site.entry_vaddr,
            One("libfixture.so:variant_b").site.entry_vaddr);
}

TEST_F(ResolveTest, LibcsIndirectFunctionsAreResolvedOrRefused) {
  const auto memcpy_target = Resolve({"libc.so.6:memcpy@@GLIBC_2.14"});
  ASSERT_TRUE(memcpy_target.ok());
  const NativeAnswer& answer = memcpy_target->answers[0];
  EXPECT_TRUE(answer.targets == 1 || !answer.refused.ok());
  // The vdso's: not in the file.
  ExpectRefused("libc.so.6:time", "indirect function");
}

TEST_F(ResolveTest, AnImportNamesItsLibrary) {
  ExpectRefused("libfixture.so:rand", "libc.so.6:rand");
}

TEST_F(ResolveTest, WhatMustNotBeProbedIsRefused) {
  ExpectRefused("libfixture.so:some_data", "is data");
  ExpectRefused("libfixture.so:loops_to_its_entry", "jumps back to its entry");
  ExpectRefused("libfixture.so:is_atomic", "prefix");
  ExpectRefused("libfixture.so:versioned", "versioned@V1");
}

TEST_F(ResolveTest, WhatIsNotThereIsExplained) {
  NativeAnswer answer = AnswerTo("libnowhere.so:pushes");
  EXPECT_FALSE(answer.mapped);
  EXPECT_THAT(answer.hints.at(0).reason, HasSubstr("mapped no file libnowhere.so"));
  answer = AnswerTo("libfixtur.so:pushes");
  EXPECT_THAT(answer.hints.at(0).suggestion, HasSubstr("libfixture.so:pushes"));
  answer = AnswerTo("libfixture.so:pushs");
  EXPECT_TRUE(answer.mapped);
  EXPECT_THAT(answer.hints.at(0).suggestion, HasSubstr("libfixture.so:pushes"));
  answer = AnswerTo("libfixture.so:entirely_other");
  EXPECT_THAT(answer.hints.at(0).reason, HasSubstr("no function of that name"));
}

TEST_F(ResolveTest, AGlobLeavesOutWhatCannotBeHad) {
  const NativeAnswer answer = AnswerTo("libfixture.so:is_*");
  EXPECT_EQ(answer.targets, 1u);  // is_fallen_into
  EXPECT_TRUE(answer.refused.ok());
  EXPECT_THAT(answer.left_out, ElementsAre(HasSubstr("is_atomic")));
}

TEST_F(ResolveTest, TooManyAreRefused) {
  const auto found = Resolve({"libc.so.6:*"});
  EXPECT_TRUE(absl::IsResourceExhausted(found.status())) << found.status();
}

TEST_F(ResolveTest, WhatIsMappedIsKnown) {
  EXPECT_TRUE(*IsMapped(process_, *ParseNativePattern("libfixture.so:x")));
  EXPECT_FALSE(*IsMapped(process_, *ParseNativePattern("libnowhere.so:x")));
}

TEST_F(ResolveTest, TextIsComparedWithTheFile) {
  NativeTarget target = One("libfixture.so:asks_the_kernel");
  EXPECT_EQ(target.text.size(), 5u)
      << "the probed instruction alone: a neighbour may be probed too";
  EXPECT_EQ(*LookAtText(process_, memory_, target), TextState::kAsInFile);
  target.text[4] ^= std::byte{1};
  EXPECT_EQ(*LookAtText(process_, memory_, target), TextState::kChanged);
  target.inode ^= 1;
  EXPECT_EQ(*LookAtText(process_, memory_, target), TextState::kUnmapped);
}

}  // namespace
}  // namespace sbump
