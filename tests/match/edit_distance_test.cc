#include "daemon/match/edit_distance.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace sbump {
namespace {

TEST(EditDistanceTest, CountsSlips) {
  EXPECT_EQ(EditDistance("forward", "forward", 3), 0u);
  EXPECT_EQ(EditDistance("foward", "forward", 3), 1u);
  EXPECT_EQ(EditDistance("froward", "forward", 3), 1u);  // swapped neighbours
  EXPECT_EQ(EditDistance("backward", "forward", 4), 4u);
  EXPECT_EQ(EditDistance("backward", "forward", 3), 4u);
  EXPECT_EQ(EditDistance("", "abc", 3), 3u);
  EXPECT_EQ(EditDistance("", "", 0), 0u);
  EXPECT_EQ(EditDistance("a", "b", 0), 1u);
  EXPECT_EQ(EditDistance("a", "abcdef", 2), 3u);
}

TEST(EditDistanceTest, LongNamesAreNotCompared) {
  EXPECT_EQ(EditDistance(std::string(129, 'a'), std::string(129, 'a'), 2), 3u);
  EXPECT_EQ(EditDistance(std::string(128, 'a'), std::string(128, 'b'), 1000), 128u);
}

size_t Plain(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t same = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j - 1] + same, d[i - 1][j] + 1, d[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

TEST(EditDistanceTest, TheBandGivesWhatTheWholeTableGives) {
  std::mt19937 random(7);
  auto word = [&] {
    std::string out(random() % 10, 'a');
    for (char& c : out) c = static_cast<char>('a' + random() % 3);
    return out;
  };
  for (int i = 0; i < 50'000; ++i) {
    const std::string a = word(), b = word();
    const size_t cap = random() % 5;
    ASSERT_EQ(EditDistance(a, b, cap), std::min(Plain(a, b), cap + 1))
        << a << " " << b << " " << cap;
  }
}

}  // namespace
}  // namespace sbump
