#include "daemon/torch/operator_sites.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cpython/fake_elf.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kSoftmax[] = "_ZN2at4_ops11softmax_int4callERKNS_6TensorEl";
constexpr char kSchema[] = "softmax.int(Tensor self, int dim) -> Tensor";

class OperatorSitesTest : public testing::Test {
 protected:
  FakeElf elf;
  uint64_t next_text = FakeElf::kText + 0x8000;

  // Where the library has its constants.
  void AddText(std::string_view text) {
    std::vector<uint8_t> bytes = {0};
    bytes.insert(bytes.end(), text.begin(), text.end());
    bytes.push_back(0);
    elf.PutCode(next_text, bytes);
    next_text += bytes.size() - 1;
  }
  uint64_t AddFunction(const std::string& name, std::string_view bytes, uint64_t at = 0x100) {
    const std::vector<uint8_t> code = Hex(bytes);
    elf.PutCode(FakeElf::kText + at, code);
    elf.AddSymbol(name, FakeElf::kText + at, code.size());
    return FakeElf::kText + at;
  }
  OperatorSites Find() {
    file_ = std::make_unique<ElfFile>(*elf.Open());
    const auto found = FindOperators(*file_, UINT64_MAX);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(OperatorSites());
  }

 private:
  std::unique_ptr<ElfFile> file_;
};

TEST_F(OperatorSitesTest, BehindTheEndbr64) {
  AddText(kSchema);
  const uint64_t entry = AddFunction(kSoftmax, "f3 0f 1e fa 53 90 5b c3");
  const OperatorSites found = Find();
  EXPECT_THAT(found.left_out, IsEmpty());
  ASSERT_EQ(found.sites.size(), 1u);
  EXPECT_EQ(found.sites[0].signature.name, "softmax.int");
  EXPECT_EQ(found.sites[0].begin_vaddr, entry + 4);
  EXPECT_EQ(found.sites[0].end.vaddr, entry + 7);
}

TEST_F(OperatorSitesTest, ASchemaAtTheEndOfALongerText) {
  AddText("_log_softmax.int(Tensor self, int dim) -> Tensor");
  AddFunction(kSoftmax, "53 5b c3");
  ASSERT_EQ(Find().sites.size(), 1u);
}

TEST_F(OperatorSitesTest, RegisteredOnesCountBeforeThoseOfTorchScript) {
  AddText("aten::softmax.int(Tensor self, int dim) -> bool");
  AddText(kSchema);
  AddFunction(kSoftmax, "53 5b c3");
  const OperatorSites found = Find();
  ASSERT_EQ(found.sites.size(), 1u);
  EXPECT_EQ(found.sites[0].signature.call.returns, SB_RETURNS_TENSOR);
}

TEST_F(OperatorSitesTest, WhatCannotBeFollowed) {
  AddText(kSchema);
  AddText("two(Tensor self) -> Tensor");
  AddText("jumps(Tensor self) -> Tensor");
  AddText("never(Tensor self) -> Tensor");
  AddFunction("_ZN2at4_ops3two4callERKNS_6TensorE", "85 d2 75 01 c3 c3", 0x200);
  AddFunction("_ZN2at4_ops5jumps4callERKNS_6TensorE", "ff e0", 0x300);
  AddFunction("_ZN2at4_ops5never4callERKNS_6TensorE", "0f 0b", 0x400);
  AddFunction("_ZN2at4_ops7unknown4callERKNS_6TensorE", "53 5b c3", 0x500);
  AddFunction("_ZN2at4_ops3two10redispatchERKNS_6TensorE", "53 5b c3", 0x600);
  const OperatorSites found = Find();
  EXPECT_THAT(found.sites, IsEmpty());
  EXPECT_THAT(found.left_out,
              ElementsAre(HasSubstr("two: it returns at several places"),
                          HasSubstr("jumps: its text jumps"),
                          HasSubstr("never: it does not return"), HasSubstr("unknown: no schema")));
}

TEST_F(OperatorSitesTest, NamesThatAreNone) {
  AddText(kSchema);
  AddText(") -> ");
  AddText("(Tensor self) -> Tensor");
  AddFunction(kSoftmax, "53 5b c3");
  AddFunction("_ZN2at4_ops99softmax_int4callE", "53 5b c3", 0x200);
  AddFunction("_ZN2at4_ops0call4callE", "53 5b c3", 0x300);
  AddFunction("_ZN2at4_ops99999999999999999999x4callE", "53 5b c3", 0x400);
  EXPECT_EQ(Find().sites.size(), 1u);
}

TEST_F(OperatorSitesTest, ALibraryThatTakesTooLong) {
  AddText(kSchema);
  AddFunction(kSoftmax, "53 5b c3");
  EXPECT_TRUE(absl::IsDeadlineExceeded(FindOperators(*elf.Open(), 0).status()));
}

TEST_F(OperatorSitesTest, NotAllThatLooksLikeASchemaIsLookedAt) {
  std::string arrows;
  for (int i = 0; i < 100'000; ++i) arrows += ") -> ";
  AddText(arrows);
  AddText(kSchema);
  AddFunction(kSoftmax, "53 5b c3");
  EXPECT_THAT(Find().left_out, ElementsAre(HasSubstr("softmax_int: no schema")));
}

TEST_F(OperatorSitesTest, AnotherLibrary) {
  AddFunction("softmax", "c3");
  EXPECT_TRUE(absl::IsNotFound(FindOperators(*elf.Open(), UINT64_MAX).status()));
}

}  // namespace
}  // namespace sbump
