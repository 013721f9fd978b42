#include "daemon/attach/skip_text.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_set>

namespace sbump {
namespace {

TEST(SkipText, EachReasonHasWordsOfItsOwn) {
  std::unordered_set<std::string> texts;
  for (int reason = 0; reason < SB_SKIP_REASONS; ++reason) {
    const std::string text(SkipReasonText(static_cast<sb_skip>(reason)));
    EXPECT_NE(text, "unknown") << reason;
    EXPECT_TRUE(texts.insert(text).second) << text;
  }
}

}  // namespace
}  // namespace sbump
