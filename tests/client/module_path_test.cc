#include "client/module_path.h"

#include "gtest/gtest.h"

namespace sbump {
namespace {

TEST(ModulePath, TheOneAbove) {
  EXPECT_EQ(PathAbove("top.layers.0"), "top.layers");
  EXPECT_EQ(PathAbove("top"), "");
  EXPECT_EQ(PathAbove(""), std::nullopt);
}

TEST(ModulePath, FurtherModelsAndCallablesAreNotBelowAModelWithoutAName) {
  EXPECT_EQ(PathAbove("#2.embed"), "#2");
  EXPECT_EQ(PathAbove("#2"), std::nullopt);
  EXPECT_EQ(PathAbove("callable:PiecewiseBackend:3"), std::nullopt);
}

TEST(ModulePath, Below) {
  EXPECT_TRUE(IsBelow("top.layers.0", "top"));
  EXPECT_FALSE(IsBelow("top", "top"));
  EXPECT_FALSE(IsBelow("top2.embed", "top"));
  EXPECT_TRUE(IsBelow("embed", ""));
  EXPECT_TRUE(IsBelow("layers.0", ""));
  EXPECT_FALSE(IsBelow("", ""));
  EXPECT_FALSE(IsBelow("#2.embed", ""));
}

TEST(ModulePathTest, FromTheModelOn) {
  const auto is_in_tree = [](const std::string& path) { return path == "top.a" || path == "b"; };
  EXPECT_EQ(FullPath("top", "a", is_in_tree), "top.a");
  EXPECT_EQ(FullPath("top", "top.a", is_in_tree), "top.a");
  EXPECT_EQ(FullPath("top", "b", is_in_tree), "b");
  EXPECT_EQ(FullPath("top", "c", is_in_tree), std::nullopt);
}

}  // namespace
}  // namespace sbump
