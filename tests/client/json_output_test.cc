#include "client/json_output.h"

#include "gtest/gtest.h"
#include "tests/client/samples.h"

namespace sbump {
namespace {

TEST(JsonLine, HasProtoNamesAndZeroValues) {
  v1::DetachProof proof;
  EXPECT_EQ(JsonLine(proof),
            "{\"links_left\":0,\"fields_left\":0,\"text_bytes_changed\":0,\"verified\":false,"
            "\"detail\":\"\"}\n");
}

TEST(JsonLine, StaysOneLineWhateverAName) {
  v1::NearMiss miss;
  miss.set_suggestion("a\nb\"\x1b");
  EXPECT_EQ(JsonLine(miss), "{\"suggestion\":\"a\\nb\\\"\\u001b\",\"reason\":\"\"}\n");
}

TEST(JsonLine, SixtyFourBitNumbersAreStrings) {
  v1::Skipped skipped;
  skipped.set_count(18'446'744'073'709'551'615u);
  EXPECT_EQ(JsonLine(skipped), "{\"reason\":\"\",\"count\":\"18446744073709551615\"}\n");
}

}  // namespace
}  // namespace sbump
