#include "daemon/session/expected_names.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

TEST(ExpectedNamesTest, OfTheObjectThatHasTheFingerprint) {
  ExpectedNames names;
  names.Remember({0x1000}, 1, "make.<locals>.inner");
  ASSERT_NE(names.Find({0x1000}, 1), nullptr);
  EXPECT_EQ(*names.Find({0x1000}, 1), "make.<locals>.inner");
  EXPECT_EQ(names.Find({0x1000}, 2), nullptr) << "another object at its address";
  EXPECT_EQ(names.Find({0x2000}, 1), nullptr);
  names.Remember({0x1000}, 2, "other");
  EXPECT_EQ(names.Find({0x1000}, 1), nullptr);
  EXPECT_EQ(*names.Find({0x1000}, 2), "other");
  names.Forget({0x1000});
  names.Forget({0x1000});
  EXPECT_EQ(names.Find({0x1000}, 2), nullptr);
}

TEST(ExpectedNamesTest, ABoundedAmountOfThem) {
  ExpectedNames names;
  const std::string longest(64 << 10, 'f');
  uint64_t count = 0;
  for (; names.HasRoom(); ++count) names.Remember({16 * count}, 1, longest);
  EXPECT_LE(count, ExpectedNames::kMaxBytes >> 16);
  names.Remember({16 * count}, 1, longest);
  EXPECT_EQ(names.Find({16 * count}, 1), nullptr);
  names.Forget({0});
  EXPECT_TRUE(names.HasRoom());
  names.Remember({16 * count}, 1, longest);
  EXPECT_NE(names.Find({16 * count}, 1), nullptr);
}

}  // namespace
}  // namespace sbump
