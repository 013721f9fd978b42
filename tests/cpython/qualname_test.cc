#include "daemon/cpython/qualname.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

CodeObject Parent(std::string name, std::string qualname, bool is_function) {
  CodeObject parent;
  parent.name = std::move(name);
  parent.qualname = std::move(qualname);
  parent.head.flags = is_function ? kCoOptimized | kCoNewLocals : 0;
  return parent;
}

TEST(QualnameTest, InsideAModuleTheBareName) {
  EXPECT_EQ(NestedQualname(Parent("<module>", "<module>", false), "f"), "f");
}

TEST(QualnameTest, InsideAClassBody) {
  EXPECT_EQ(NestedQualname(Parent("Inner", "Outer.Inner", false), "run"), "Outer.Inner.run");
}

TEST(QualnameTest, InsideAFunction) {
  EXPECT_EQ(NestedQualname(Parent("make", "make", true), "<lambda>"), "make.<locals>.<lambda>");
  EXPECT_EQ(NestedQualname(Parent("C", "make.<locals>.C", false), "run"), "make.<locals>.C.run");
}

TEST(QualnameTest, AFunctionsQualnameFitsItsOwnCode) {
  EXPECT_TRUE(QualnameFitsName("run", "run"));
  EXPECT_TRUE(QualnameFitsName("Engine.run", "run"));
  EXPECT_TRUE(QualnameFitsName("make.<locals>.<lambda>", "<lambda>"));
}

TEST(QualnameTest, AQualnameThatWrapsTookFromAnotherFunctionDoesNot) {
  EXPECT_FALSE(QualnameFitsName("Engine.run", "wrapper"));
  EXPECT_FALSE(QualnameFitsName("Engine.rerun", "run"));
  EXPECT_FALSE(QualnameFitsName(".run", "Engine.run"));
  EXPECT_FALSE(QualnameFitsName("", "run"));
}

}  // namespace
}  // namespace sbump
