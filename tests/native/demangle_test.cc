#include "daemon/native/demangle.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

TEST(DemangleTest, WritesNamesAsPeopleDo) {
  EXPECT_EQ(Demangle("_ZNK6shapes6Square4AreaEiPKc"),
            "shapes::Square::Area(int, char const*) const");
  EXPECT_EQ(Demangle("_Z1fv"), "f()");
  EXPECT_EQ(Demangle("write"), std::nullopt);
  EXPECT_EQ(Demangle("_Z"), std::nullopt);
  EXPECT_EQ(Demangle("_Znonsense"), std::nullopt);
  EXPECT_EQ(Demangle(""), std::nullopt);
}

// f(a, b<a, a>, b<b<a, a>, b<a, a>>, ...): each parameter says the one before it twice.
std::string Doubling(int levels) {
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string name = "_Z1f1a1bIS_S_E";
  for (int i = 1; i < levels; ++i) {
    const std::string last = std::string("S") + digits[static_cast<size_t>(i)] + "_";
    name += "S0_I" + last + last + "E";
  }
  return name;
}

TEST(DemangleTest, AHostileNameEndsAtTheLimit) {
  EXPECT_EQ(Demangle(Doubling(2)), "f(a, b<a, a>, b<b<a, a>, b<a, a> >)");
  EXPECT_GT(Demangle(Doubling(8)).value_or("").size(), 1000u);
  EXPECT_EQ(Demangle(Doubling(33)), std::nullopt) << "some ten gigabytes";
}

TEST(DemangleTest, TooLongIsNotTried) {
  EXPECT_EQ(Demangle("_Z" + std::string(kMaxMangledBytes, '1')), std::nullopt);
}

}  // namespace
}  // namespace sbump
