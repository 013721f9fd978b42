#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "bpf/shared/text.h"
#include "bpf/shared/verdict.h"

namespace {

struct Words {
  __u64 at[SB_FINGERPRINT_BYTES / 8];
};

// As a code object's words differ: small numbers in either half of any word.
TEST(FingerprintTest, SmallDifferencesInEachHalfOfEachWord) {
  std::set<__u32> seen;
  size_t count = 0;
  for (size_t word = 0; word < SB_FINGERPRINT_BYTES / 8; ++word) {
    for (__u64 number = 1; number <= 4000; ++number) {
      for (const int shift : {0, 32}) {
        Words words = {{3, 0, 4, 1}};
        words.at[word] += number << shift;
        seen.insert(sb_fingerprint(words.at));
        ++count;
      }
    }
  }
  EXPECT_GE(seen.size(), count - 3) << "a few may collide: 32 bits";
}

TEST(FingerprintTest, TheOrderOfWordsCounts) {
  const Words ab = {{1, 2, 0, 0}}, ba = {{2, 1, 0, 0}};
  EXPECT_NE(sb_fingerprint(ab.at), sb_fingerprint(ba.at));
}

__u64 HashOf(std::string_view name) {
  __u64 words[SB_TEXT_WORDS] = {};
  memcpy(words, name.data(), name.size());
  return sb_text_hash(words, name.size());
}

TEST(TextHashTest, NamesOfOneShapeDiffer) {
  std::set<__u64> seen;
  std::set<__u32> low;
  for (int i = 0; i < 20'000; ++i) {
    const __u64 hash =
        HashOf("/usr/lib/python3/dist-packages/pkg/mod_" + std::to_string(i) + ".py");
    seen.insert(hash);
    low.insert(static_cast<__u32>(hash));
  }
  EXPECT_EQ(seen.size(), 20'000u);
  EXPECT_GE(low.size(), 19'990u) << "a table takes the low bits";
}

TEST(TextHashTest, TheLengthCounts) {
  EXPECT_NE(HashOf("a"), HashOf(std::string_view("a\0", 2)));
  EXPECT_NE(HashOf(""), HashOf(std::string_view("\0", 1)));
  EXPECT_NE(HashOf(std::string(SB_TEXT_BYTES, 'x')), HashOf(std::string(SB_TEXT_BYTES - 1, 'x')));
}

}  // namespace
