#include "daemon/estimate/multiplicity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/estimate/service.h"

namespace sbump {
namespace {

// The fifteen p-values of Benjamini and Hochberg's own example (Journal of the Royal Statistical
// Society B 57, 1995, section 3.2): at q = 0.05 the first four are rejected.
TEST(MultiplicityTest, ExampleOfBenjaminiAndHochberg) {
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  const std::vector<double> adjusted = AdjustForFalseDiscoveries(p);
  EXPECT_EQ(std::ranges::count_if(adjusted, [](double q) { return q <= 0.05; }), 4);
  EXPECT_DOUBLE_EQ(adjusted[0], 0.0001 * 15);
  EXPECT_DOUBLE_EQ(adjusted[3], 0.0095 * 15 / 4);
  EXPECT_DOUBLE_EQ(adjusted[14], 1);
}

TEST(MultiplicityTest, OrderOfGroupsDoesNotMatter) {
  const std::vector<double> adjusted = AdjustForFalseDiscoveries({0.04, 0.01, 0.03});
  EXPECT_DOUBLE_EQ(adjusted[0], 0.04);
  EXPECT_DOUBLE_EQ(adjusted[1], 0.03);
  EXPECT_DOUBLE_EQ(adjusted[2], 0.04);
}

TEST(MultiplicityTest, NoneAndOne) {
  EXPECT_TRUE(AdjustForFalseDiscoveries({}).empty());
  EXPECT_EQ(AdjustForFalseDiscoveries({0.2}), std::vector<double>{0.2});
  EXPECT_TRUE(Shrink({}).empty());
  EXPECT_TRUE(Ranks({}).empty());
  EXPECT_DOUBLE_EQ(Shrink({{0.7, 0.1}})[0], 0.7);
  EXPECT_EQ(Ranks({{0.7, 0.1}}), std::vector<size_t>{1});
}

// By hand: mean 0.5, scatter 0.5 / 0.01 = 50 for one degree, spare weight 100: the true values vary
// by 0.49, and 0.49 / 0.50 of each difference is kept.
TEST(MultiplicityTest, ShrinksByTheShareThatIsNoise) {
  const std::vector<double> shrunk = Shrink({{0, 0.1}, {1, 0.1}});
  EXPECT_NEAR(shrunk[0], 0.5 - 0.5 * 0.98, 1e-12);
  EXPECT_NEAR(shrunk[1], 0.5 + 0.5 * 0.98, 1e-12);
}

TEST(MultiplicityTest, PureNoiseShrinksToItsMean) {
  const std::vector<double> shrunk = Shrink({{0.1, 1}, {-0.1, 1}, {0.3, 1}});
  for (const double estimate : shrunk) EXPECT_NEAR(estimate, 0.1, 1e-12);
}

// The greatest of twenty estimates of nothing is far off; shrunk, it is hardly.
TEST(MultiplicityTest, TheGreatestOfManyIsNotBelieved) {
  double greatest = 0, shrunk_greatest = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    std::vector<Measured> measured;
    for (int i = 0; i < 20; ++i) measured.push_back({Normal(random) * 0.1, 0.1});
    const std::vector<double> shrunk = Shrink(measured);
    greatest += std::ranges::max(measured, {}, &Measured::estimate).estimate / 200;
    shrunk_greatest += std::ranges::max(shrunk) / 200;
  }
  EXPECT_GT(greatest, 0.17);
  EXPECT_LT(shrunk_greatest, 0.06);
}

TEST(MultiplicityTest, RanksAreSharedByThoseThatCannotBeTold) {
  EXPECT_EQ(Ranks({{0.1, 0.1}, {1.0, 0.1}, {0.9, 0.1}, {0.2, 0.1}}),
            (std::vector<size_t>{3, 1, 1, 3}));
  EXPECT_EQ(Ranks({{0.1, 1}, {1.0, 1}, {0.9, 1}}), (std::vector<size_t>{1, 1, 1}));
  for (const size_t rank : Ranks({{2, 0}, {2, 0}})) EXPECT_EQ(rank, 1u);
}

}  // namespace
}  // namespace sbump
