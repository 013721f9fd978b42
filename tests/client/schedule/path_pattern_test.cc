#include "client/schedule/path_pattern.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

TEST(PathPatternTest, OfOneModule) {
  EXPECT_EQ(PatternOf("top#2.layers.0"), "top#2.layers.0");
  EXPECT_EQ(PatternOf("callable:Piece:0"), "callable:Piece:0");
  EXPECT_EQ(PatternOf(""), "re:$");
  EXPECT_EQ(PatternOf("top.by name*"), R"(re:top\.by\ name\*$)");
  EXPECT_EQ(PatternOf("type:a"), R"(re:type\:a$)");
}

TEST(PathPatternTest, OfWhatIsBelow) {
  EXPECT_EQ(PatternBelow("top.layers.0"), R"(re:top\.layers\.0\.)");
}

}  // namespace
}  // namespace sbump
